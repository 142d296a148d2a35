"""Which verdicts use a run."""

from __future__ import annotations

from typing import Any

import pytest

from pairmark.domain.world import World
from pairmark.http.routes.certification_list import CertificationList
from tests.service.serving import Service, problem_in


def listed(service: Service, **parameters: Any) -> CertificationList:
    answer = service.get("/v1/certifications", **parameters)
    assert answer.status_code == 200, answer.text
    return CertificationList.model_validate_json(answer.content)


def test_a_run_finds_what_rests_on_it_in_any_role(service: Service, world: World) -> None:
    ids = service.submit(world)
    other = service.submit(world.edit_run("all", "/started_at", "2026-01-02T03:04:05+00:00"))
    pair = {"benign": ids["benign"], "attacked": ids["attacked"]}
    made = {
        name: service.certify(runs).json()["id"]
        for name, runs in {
            "whole": ids, "bare": {**pair, "attacked": ids["baseline"]}, "apart": other, "mixed": {**pair, "baseline": other["baseline"]},
        }.items()
    }  # fmt: skip
    assert len(set(made.values())) == 4
    for run, expected in (
        (ids["benign"], {"whole", "bare", "mixed"}), (ids["attacked"], {"whole", "mixed"}), (ids["baseline"], {"whole", "bare"}),
        (other["baseline"], {"apart", "mixed"}), (other["benign"], {"apart"}),
    ):  # fmt: skip
        found = listed(service, run=run)
        assert {item.id for item in found.items} == {made[name] for name in expected}
        assert found.next is None
        assert [item.created_at for item in found.items] == sorted((item.created_at for item in found.items), reverse=True)
    assert {item.id for item in listed(service, run=ids["benign"], verdict="certified").items} == {
        item.id for item in listed(service, verdict="certified").items if item.runs.benign == ids["benign"]
    }


def test_pages_of_a_run_go_on_and_are_of_that_run_only(service: Service, world: World) -> None:
    ids = service.submit(world)
    for policy in ("standard/1", "transcript/1"):
        assert service.certify(ids, policy).status_code == 201
    first = listed(service, run=ids["attacked"], limit=1)
    second = listed(service, run=ids["attacked"], limit=1, cursor=first.next)
    assert {first.items[0].id, second.items[0].id} == {item.id for item in listed(service).items}
    assert second.next is None
    elsewhere: list[dict[str, Any]] = [{"run": ids["benign"]}, {}]
    for parameters in elsewhere:
        problem_in(service.get("/v1/certifications", cursor=first.next, **parameters), 422, "bad-cursor")


def test_a_run_that_rests_nowhere_has_an_empty_list(service: Service, world: World) -> None:
    assert listed(service, run=service.submit(world)["benign"]).items == ()


@pytest.mark.parametrize("run", ["none", "", "run-\x00", "run-é"])
def test_a_run_that_is_not_there_is_said_to_be_unknown(service: Service, run: str) -> None:
    """An empty list would look as if nothing rested on it."""
    problem_in(service.get("/v1/certifications", run=run), 404, "unknown-run")
