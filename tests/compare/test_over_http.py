"""Comparisons, plans and aggregates as the service answers them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.engine import engine_of
from pairmark.app.records import Status
from pairmark.domain.documents.comparison import Comparison, ComparisonSet
from pairmark.domain.documents.evaluation_plan import EvaluationPlan
from pairmark.domain.documents.suite_diff import SuiteDiff
from pairmark.domain.world import World
from pairmark.http.models import AggregateAnswer, HistoryPage
from tests.compare.pairs import certified
from tests.compare.suites import digest
from tests.service.serving import Service, problem_in

AGGREGATE: dict[str, Any] = {
    "schema": "pairmark/aggregate/v1", "name": "model-x, from a paper", "suite": {"name": "synthetic/office", "digest": None},
    "attack": None,
    "system": {
        "model": {"requested": "model-x", "served": None, "provider": None}, "decoding": None, "tools_digest": None,
        "system_prompt_digest": None, "scaffold": None, "defenses": [], "limits": None,
    },
    "harness": {"name": "synthetic", "version": None, "commit": None, "image": None},
    "counts": {
        "benign": {"planned": 20, "assessed": 20, "utility": 20},
        "attacked": {"planned": 150, "assessed": 120, "utility": 0, "attack_success_known": None, "attack_success": None},
    },
    "reasons": [], "source": {"title": "a paper", "reference": None, "license": None},
}  # fmt: skip


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> tuple[Service, dict[str, str], Path]:
    """Certificates: defended, bare, of another model, and one over a changed suite; and an aggregate under their name."""
    folder = tmp_path_factory.mktemp("past")
    service = Service.at(folder)
    changed = World().undefended().edit_suite("/tasks/0/checker", digest("stricter")).edit_suite("/version", "v2")
    worlds = {
        "defended": World(), "bare": World().undefended(), "other": World().undefended().swap_model("all"), "changed": changed,
    }  # fmt: skip
    ids = {}
    for name, world in worlds.items():
        answer = service.certify(service.submit(world)).json()
        assert answer["report"]["verdict"] == "certified", [f for f in answer["report"]["findings"] if f["outcome"] != "passed"]
        ids[name] = answer["certificate"]
    kept = service.post("/v1/aggregates", AGGREGATE)
    assert kept.status_code == 201
    ids["aggregate"] = kept.json()["id"]
    return service, ids, folder


def mark(folder: Path, certificate: str, status: Status) -> None:
    """What logging a status change does to history."""
    database = SqlDatabase.at(f"sqlite:///{folder / 'pairmark.db'}")
    database.write(lambda tables: tables.history.mark(certificate, status))
    database.close()


def test_a_comparison_is_that_of_the_pure_function(past: tuple[Service, dict[str, str], Path]) -> None:
    from pairmark.app.comparison.compare import compare

    service, ids, _ = past
    answer = service.get("/v1/comparisons", left=ids["defended"], right=ids["bare"])
    assert answer.status_code == 200, answer.text
    found = Comparison.model_validate_json(answer.content)
    assert (found.left.certificate, found.right.certificate) == (ids["defended"], ids["bare"])
    expected = compare(certified(World(), ids["defended"]), certified(World().undefended(), ids["bare"]))
    for part in ("changes", "flips", "conditioned", "mix", "differs"):
        assert getattr(found, part) == getattr(expected, part)


def test_several_others_are_adjusted_together(past: tuple[Service, dict[str, str], Path]) -> None:
    service, ids, _ = past
    answer = service.call("GET", "/v1/comparisons", params=[("left", ids["defended"]), ("right", ids["bare"]), ("right", ids["other"])])
    found = ComparisonSet.model_validate_json(answer.content)
    assert [one.right.certificate for one in found.comparisons] == [ids["bare"], ids["other"]]
    assert all(one.changes.utility_drop.p_adjusted is not None for one in found.comparisons)  # type: ignore[union-attr]


def test_two_mixes_are_409_with_the_fields_the_nearest_set_and_its_certificates(past: tuple[Service, dict[str, str], Path]) -> None:
    service, ids, _ = past
    problem = problem_in(service.get("/v1/comparisons", left=ids["bare"], right=ids["changed"]), 409, "different-mix")
    assert problem.differing is not None
    assert [field.field for field in problem.differing] == ["suite.digest"]
    assert problem.nearest is not None
    assert problem.nearest["common_cells"] == 142
    assert set(problem.nearest["compare_with_left"]) == {ids["defended"], ids["other"]}  # type: ignore[arg-type]
    assert problem.nearest["compare_with_right"] == []
    assert problem.errors == ()


def test_reweighted_to_the_common_mix(past: tuple[Service, dict[str, str], Path]) -> None:
    service, ids, _ = past
    answer = service.get("/v1/comparisons", left=ids["bare"], right=ids["changed"], reweight="common")
    found = Comparison.model_validate_json(answer.content)
    assert (found.mix.kind, found.mix.cells, found.mix.left_share.fraction) == ("common-mix", 142, "19/20")
    assert found.decomposition is not None


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"left": "nobody", "right": "bare"}, 404, "unknown-certificate"),
        ({"left": "bare", "right": "nobody"}, 404, "unknown-certificate"),
        ({"left": "bare", "right": "aggregate"}, 404, "unknown-certificate"),
        ({"left": "bare", "right": "bare"}, 422, "same-certificate"),
        ({"left": "bare"}, 422, "invalid-parameter"),
        ({"right": "bare"}, 422, "invalid-parameter"),
        ({"left": "bare", "right": "other", "reweight": "all"}, 422, "invalid-parameter"),
        ({"left": "bare", "right": "other", "policy": "standard/1"}, 422, "invalid-parameter"),
        ({"left": "bare", "right": ["other"] * 21}, 422, "invalid-parameter"),
        ({"left": "a\0", "right": "bare"}, 422, "invalid-parameter"),
    ],
)
def test_wrong_comparisons(past: tuple[Service, dict[str, str], Path], asked: dict[str, Any], status: int, code: str) -> None:
    service, ids, _ = past

    def given(name: Any) -> Any:
        return [ids.get(one, one) for one in name] if isinstance(name, list) else ids.get(name, name)

    problem_in(service.get("/v1/comparisons", **{key: given(name) for key, name in asked.items()}), status, code)


def test_a_revoked_certificate_is_not_compared_and_a_superseded_one_is_with_a_caution(tmp_path: Path) -> None:
    service = Service.at(tmp_path)
    left, right = (service.certify(service.submit(world)).json()["certificate"] for world in (World(), World().undefended()))
    mark(tmp_path, left, "superseded")
    found = service.get("/v1/comparisons", left=left, right=right).json()
    assert "the left certificate was superseded by a newer one" in found["cautions"]
    mark(tmp_path, right, "revoked")
    problem_in(service.get("/v1/comparisons", left=left, right=right), 409, "certificate-revoked")
    page = service.get("/v1/history", suite="synthetic/office").json()
    assert page["items"] == []
    assert page["left_out"] == {"revoked": 1, "superseded": 1}
    listed = service.get("/v1/history", suite="synthetic/office", include="incomparable").json()["items"]
    assert {item["certificate"]: item["left_out"] for item in listed} == {left: "superseded", right: "revoked"}
    assert service.get(f"/v1/certificates/{right}").status_code == 200
    problem_in(service.post("/v1/plans", {"pilot": right}), 409, "certificate-revoked")


def test_numbers_of_another_definition_are_neither_compared_nor_listed(tmp_path: Path) -> None:
    service = Service.at(tmp_path)
    left, right = (service.certify(service.submit(world)).json()["certificate"] for world in (World(), World().undefended()))
    engine = engine_of(f"sqlite:///{tmp_path / 'pairmark.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE history_entries SET definition = 'pairmark/report/v0' WHERE id = :id"), {"id": left})
        connection.execute(text("UPDATE history_tallies SET entries = entries - 1"))
        connection.execute(
            text(
                "INSERT INTO history_tallies (suite_name, status, suite, definition, entries)"
                " SELECT suite_name, status, suite, 'pairmark/report/v0', 1 FROM history_tallies"
            )
        )
    engine.dispose()
    problem = problem_in(service.get("/v1/comparisons", left=left, right=right), 409, "metric-definitions-differ")
    assert problem.differing is not None
    assert [field.field for field in problem.differing] == ["metric definition"]
    page = service.get("/v1/history", suite="synthetic/office").json()
    assert [item["certificate"] for item in page["items"]] == [right]
    assert page["left_out"] == {"other-definition": 1}


def test_a_diff_names_the_certificates_it_is_about(past: tuple[Service, dict[str, str], Path]) -> None:
    service, ids, _ = past
    digests = [service.get("/v1/history", suite=f"synthetic/office@{version}").json()["suite"]["digest"] for version in ("v1", "v2")]
    path = f"/v1/suites/{digests[0]}/diff/{digests[1]}"
    plain = service.get(path)
    assert plain.json()["certificates"] is None
    assert "etag" in plain.headers
    answer = service.get(path, certificates="true")
    assert answer.headers["cache-control"] == "no-cache"
    found = SuiteDiff.model_validate_json(answer.content)
    assert (found.comparability, found.common_mix_refusal) == ("common-mix", None)
    assert found.certificates is not None
    assert set(found.certificates.left.newest) == {ids["defended"], ids["bare"], ids["other"]}
    assert (found.certificates.left.count, found.certificates.right.newest) == (3, (ids["changed"],))
    problem_in(service.get(path, certificates="perhaps"), 422, "invalid-parameter")


# plans


def test_plans_from_a_suite_a_pilot_and_rates(past: tuple[Service, dict[str, str], Path]) -> None:
    service, ids, _ = past
    answer = service.post("/v1/plans", {"tasks": 200, "clean_rate": 0.71, "survival": 0.55, "difference": 0.05})
    assert answer.status_code == 200
    found = EvaluationPlan.model_validate_json(answer.content)
    assert (found.clean_tasks, found.utility.half_width) == (142, "0.081826")
    assert [need.counted for need in found.for_difference] == [312, 626, 940]
    of_suite = EvaluationPlan.model_validate_json(service.post("/v1/plans", {"suite": "synthetic/office@v1", "survival": 0.5}).content)
    assert (of_suite.basis.tasks, of_suite.basis.cells) == (20, 150)
    of_pilot = EvaluationPlan.model_validate_json(service.post("/v1/plans", {"pilot": ids["bare"]}).content)
    assert of_pilot.basis.pilot == ids["bare"]
    assert of_pilot.basis.clean_rate is not None
    assert of_pilot.basis.clean_rate.fraction == "4/5"


@pytest.mark.parametrize(
    ("asked", "status", "code", "pointer"),
    [
        ({"tasks": 200, "clean_rate": 71, "survival": 0.55}, 422, "invalid-value", "/clean_rate"),
        ({"tasks": 200}, 422, "plan-needs-more", "/survival"),
        ({"suite": "nothing", "survival": 0.5}, 404, "unknown-suite", None),
        ({"suite": "synthetic/office", "survival": 0.5}, 409, "several-suites", None),
        ({"pilot": "nothing"}, 404, "unknown-certificate", None),
        ({"tasks": 200, "survival": 0.5, "difference": 0.9}, 422, "impossible-plan", "/difference"),
    ],
)
def test_wrong_plans(
    past: tuple[Service, dict[str, str], Path], asked: dict[str, Any], status: int, code: str, pointer: str | None
) -> None:
    problem = problem_in(past[0].post("/v1/plans", asked), status, code)
    assert pointer is None or [item.pointer for item in problem.errors] == [pointer]


def test_a_plan_that_is_not_json_is_400(past: tuple[Service, dict[str, str], Path]) -> None:
    problem_in(past[0].post("/v1/plans", b'{"tasks": 200,'), 400, "not-json")


# aggregates


def test_an_aggregate_is_kept_once_and_read_back(past: tuple[Service, dict[str, str], Path]) -> None:
    service, ids, _ = past
    again = service.post("/v1/aggregates", AGGREGATE)
    assert (again.status_code, again.json()["id"]) == (200, ids["aggregate"])
    read = service.get(f"/v1/aggregates/{ids['aggregate']}")
    found = AggregateAnswer.model_validate_json(read.content)
    assert read.json()["aggregate"] == AGGREGATE
    assert {reason.code for reason in found.reasons} == {
        "episodes-missing", "mix-unknown", "model-matches", "decoding-matches", "attacked-outcomes-missing",
    }
    metrics = read.json()["metrics"]
    assert metrics["utility_under_attack"]["fraction"] == "0/1"
    assert metrics["utility_drop"]["value"] is None
    assert "weigh every task once" in metrics["utility_drop"]["reason"]
    assert metrics["attack_success_rate"]["value"] is None
    assert (metrics["bounds"]["utility_under_attack"]["low"]["fraction"], metrics["bounds"]["utility_under_attack"]["high"]["fraction"]) == ("0/1", "1/5")
    problem_in(service.get("/v1/aggregates/nothing"), 404, "unknown-aggregate")
    problem_in(service.get(f"/v1/certificates/{ids['aggregate']}"), 404, "unknown-certificate")


@pytest.mark.parametrize(
    ("counts", "pointer"),
    [
        ({"planned": 20, "assessed": 10, "utility": 11}, "/counts/benign"),
        ({"planned": 20, "assessed": 21, "utility": 11}, "/counts/benign"),
        ({"planned": 20, "assessed": 20, "utility": 0.5}, "/counts/benign/utility"),
        ({"planned": 20, "assessed": 20}, "/counts/benign/utility"),
    ],
)
def test_impossible_counts(past: tuple[Service, dict[str, str], Path], counts: dict[str, Any], pointer: str) -> None:
    value = {**AGGREGATE, "counts": {**AGGREGATE["counts"], "benign": counts}}
    code = "missing-key" if "utility" not in counts else "invalid-value"
    problem = problem_in(past[0].post("/v1/aggregates", value), 422, code)
    assert [item.pointer for item in problem.errors] == [pointer]


def test_an_aggregate_is_in_no_history_by_default_and_marked_when_asked_for(past: tuple[Service, dict[str, str], Path]) -> None:
    service, ids, _ = past
    page = service.get("/v1/history", suite="synthetic/office@v1").json()
    assert {item["certificate"] for item in page["items"]} == {ids["defended"], ids["bare"], ids["other"]}
    assert page["left_out"] == {"other-mix": 1, "uncertifiable": 1}
    answer = service.get("/v1/history", suite="synthetic/office@v1", include="incomparable")
    HistoryPage.model_validate_json(answer.content)
    marks = {item.get("certificate", item.get("aggregate")): item["left_out"] for item in answer.json()["items"]}
    assert marks == {
        ids["defended"]: None, ids["bare"]: None, ids["other"]: None, ids["changed"]: "other-mix", ids["aggregate"]: "uncertifiable",
    }
    assert [item["name"] for item in answer.json()["items"] if item["left_out"] == "uncertifiable"] == ["model-x, from a paper"]


def test_a_bound_of_zero_matches_zero(past: tuple[Service, dict[str, str], Path]) -> None:
    service, ids, _ = past

    def found(**asked: Any) -> set[str]:
        items = service.get("/v1/history", suite="synthetic/office@v1", include="incomparable", **asked).json()["items"]
        return {item.get("certificate", item.get("aggregate")) for item in items}

    assert found(max_utility_under_attack="0") == {ids["aggregate"]}
    assert found(max_utility_under_attack="0.0", min_utility_under_attack="0/1") == {ids["aggregate"]}
    assert found(min_benign_utility="1") == {ids["aggregate"]}
    assert found(max_utility_under_attack="-0.1") == set()


def test_a_name_with_aggregates_only_has_no_mix(tmp_path: Path) -> None:
    service = Service.at(tmp_path)
    problem_in(service.get("/v1/history", suite="synthetic/office"), 404, "unknown-suite")
    service.post("/v1/aggregates", AGGREGATE)
    page = service.get("/v1/history", suite="synthetic/office").json()
    assert (page["suite"], page["weighting"], page["items"], page["left_out"]) == (
        {"digest": None, "labels": []}, None, [], {"uncertifiable": 1},
    )
    assert len(service.get("/v1/history", suite="synthetic/office", include="incomparable").json()["items"]) == 1
