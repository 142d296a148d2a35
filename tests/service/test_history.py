from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.world import World
from pairmark.http.models import HistoryPage
from tests.service.serving import Service, problem_in


@pytest.fixture(scope="module")
def past(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """Four certificates over one mix, each of another model, and one over another mix."""
    service = Service.at(tmp_path_factory.mktemp("past"))
    for number in range(4):
        world = World().swap_model("all", f"model-{number}").edit_run("all", "/system/model/requested", "model").set("benign", utility=True).set("benign", 1 + number, utility=False)
        assert service.certify(service.submit(world)).json()["report"]["verdict"] == "certified"
    other = World().undefended().edit_suite("/weighting", "cell").edit_suite("/version", "cells")
    assert service.certify(service.submit(other)).json()["report"]["verdict"] == "certified"
    refused = World().edit_run("attacked", "/system/decoding/temperature", 0.5)
    assert service.certify(service.submit(refused)).json()["certificate"] is None
    return service


def items(service: Service, suite: str = "synthetic/office@v1", **asked: Any) -> list[dict[str, Any]]:
    answer = service.get("/v1/history", suite=suite, **asked)
    assert answer.status_code == 200, answer.text
    HistoryPage.model_validate_json(answer.content)
    return list(answer.json()["items"])


def models(found: list[dict[str, Any]]) -> list[str]:
    return [item["system"]["model"]["served"][0] for item in found]


def test_only_certificates_of_one_mix_newest_first(past: Service) -> None:
    assert models(items(past)) == ["model-3", "model-2", "model-1", "model-0"]
    answer = past.get("/v1/history", suite="synthetic/office@v1").json()
    assert answer["weighting"] == "task"
    assert [label["version"] for label in answer["suite"]["labels"]] == ["v1"]
    assert len(items(past, "synthetic/office@cells")) == 1


def test_a_suite_is_found_by_digest_and_by_both_spellings_of_its_label(past: Service) -> None:
    digest = past.get("/v1/history", suite="synthetic/office@v1").json()["suite"]["digest"]
    assert items(past, digest) == items(past, "synthetic/office/v1") == items(past)


def test_a_name_with_several_contents_is_a_conflict(past: Service) -> None:
    problem = problem_in(past.get("/v1/history", suite="synthetic/office"), 409, "several-suites")
    assert "cells" in problem.detail


def test_every_line_has_the_certificates_own_numbers(past: Service) -> None:
    for item in items(past):
        report = past.get(f"/v1/certificates/{item['certificate']}").json()["report"]
        for rate in ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate"):
            assert item["metrics"][rate] == report["metrics"][rate]


def test_filters(past: Service) -> None:
    assert models(items(past, model="model-1")) == ["model-1"]
    assert len(items(past, model="model")) == 4
    assert items(past, model="model-9") == []
    first = items(past)[0]
    defense = first["system"]["defenses"][0]["name"]
    assert len(items(past, defense=defense)) == 4
    assert items(past, defense="none") == []
    assert len(items(past, "synthetic/office@cells", defense="none")) == 1
    assert len(items(past, attack=first["attack"]["name"], harness=f"{first['harness']['name']}@{first['harness']['version']}")) == 4
    assert models(items(past, since=items(past)[1]["issued_at"])) == ["model-3", "model-2"]
    assert models(items(past, until=items(past)[3]["issued_at"])) == ["model-0"]
    assert len(items(past, policy="standard/1")) == 4


def test_bounds_are_inclusive_and_exact(past: Service) -> None:
    fraction = items(past, model="model-2")[0]["metrics"]["utility_drop"]["fraction"]
    assert models(items(past, min_utility_drop=fraction, max_utility_drop=fraction)) == ["model-2"]
    assert len(items(past, min_utility_drop="-1", max_benign_utility="1.0")) == 4
    assert items(past, min_benign_utility="1.000001") == []


@pytest.mark.parametrize("direction", ["ascending", "descending"])
@pytest.mark.parametrize("sort", ["drop", "utility", "date"])
def test_sorted_pages(past: Service, sort: str, direction: str) -> None:
    whole = items(past, sort=sort, direction=direction)
    found: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"suite": "synthetic/office@v1", "sort": sort, "direction": direction, "limit": 1}
    while True:
        page = past.get("/v1/history", **asked).json()
        found.extend(page["items"])
        if page["next"] is None:
            break
        asked["cursor"] = page["next"]
    assert found == whole
    assert len(whole) == 4
    if sort == "drop":
        drops = [float(item["metrics"]["utility_drop"]["value"]) for item in whole]
        assert drops == sorted(drops, reverse=direction == "descending")


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({}, 422, "invalid-parameter"),
        ({"suite": "nothing"}, 404, "unknown-suite"),
        ({"suite": "synthetic/office@v9"}, 404, "unknown-suite"),
        ({"suite": "sha256:" + "0" * 64}, 404, "unknown-suite"),
        ({"suite": "s", "modle": "m"}, 422, "invalid-parameter"),
        ({"suite": "s", "since": "yesterday"}, 422, "invalid-parameter"),
        ({"suite": "s", "since": "2026-01-01T00:00:00"}, 422, "invalid-parameter"),
        ({"suite": "s", "min_utility_drop": "nan"}, 422, "invalid-parameter"),
        ({"suite": "s", "min_utility_drop": "1e400"}, 422, "invalid-parameter"),
        ({"suite": "s", "min_utility_drop": "1/0"}, 422, "invalid-parameter"),
        ({"suite": "s", "sort": "size"}, 422, "invalid-parameter"),
        ({"suite": "synthetic/office@v1", "cursor": "AAAA"}, 422, "bad-cursor"),
        ({"suite": "s\0"}, 422, "invalid-parameter"),
    ],
)
def test_wrong_questions(past: Service, asked: dict[str, Any], status: int, code: str) -> None:
    problem_in(past.get("/v1/history", **asked), status, code)


def test_a_cursor_does_not_outlive_its_filters(past: Service) -> None:
    cursor = past.get("/v1/history", suite="synthetic/office@v1", limit=1).json()["next"]
    problem_in(past.get("/v1/history", suite="synthetic/office@v1", limit=1, cursor=cursor, model="model"), 422, "bad-cursor")


def test_an_empty_mix_is_an_empty_answer(tmp_path: Path, world: World) -> None:
    service = Service.at(tmp_path)
    service.register(world)
    assert items(service) == []
