"""A number that was revoked as wrong does not come back under another serial; one that only a stolen key brought down does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from pairmark.adapters.keys import revoke
from pairmark.adapters.log.fsck import check_log
from pairmark.adapters.log.mark import HighWaterMark
from pairmark.app.certify import claim_of, evidence_of, judge
from pairmark.app.ports import Tables
from pairmark.app.same_measurement import REMEDIES
from pairmark.app.work_off import settle, work_off
from pairmark.domain.errors import Conflict
from pairmark.domain.world import World
from pairmark.http.services import Services
from pairmark.provenance.entries import REASONS
from tests.access.filled import MINE, OTHER, Filled, fill
from tests.databases import POSTGRESQL_SLOW, SQLITE_ONLY
from tests.jobs.holding import finished
from tests.jobs.test_working_off import never, parts_of
from tests.service.serving import Service, problem_in


@pytest.fixture(scope="module")
def shop(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """One service for tests that each have a measurement of their own."""
    return Service.at(tmp_path_factory.mktemp("shop"))


def measured(number: int) -> World:
    """A measurement like no other number's."""
    return World().set("attacked", 1, duration_ms=100 + number)


def later(world: World) -> World:
    """The same ledgers in runs that say that they began at another time."""
    return world.edit_run("all", "/started_at", "2026-01-22T07:00:01+00:00")


def revoked(service: Service, world: World, reason: str) -> tuple[dict[str, str], str]:
    """Ids of a pair's runs, and its certificate, revoked."""
    ids = service.submit(world)
    certificate = str(service.certify(ids).json()["certificate"])
    assert service.post(f"/v1/certificates/{certificate}/revoke", {"reason": reason}).status_code == 201
    return ids, certificate


def released(answer: httpx.Response) -> str:
    assert answer.status_code == 201, answer.text
    found = answer.json()["certificate"]
    assert found is not None
    return str(found)


def refused(answer: httpx.Response, certificate: str, reason: str) -> None:
    problem = problem_in(answer, 409, "measurement-revoked")
    assert certificate in problem.detail
    assert reason in problem.detail


def in_history(service: Service) -> list[Any]:
    return [item["certificate"] for item in service.get("/v1/history", suite=World().suite_manifest()["suite"]).json()["items"]]


def faults(service: Service) -> list[str]:
    parts = service.app.state.services
    return list(check_log(parts.database, parts.signing, HighWaterMark(parts.settings.keys_dir, parts.signing.origin)))


def test_a_measurement_revoked_as_wrong_is_not_certified_again(service: Service, world: World) -> None:
    ids, certificate = revoked(service, world, "measurement-error")
    again = service.submit(later(world))
    assert not set(again.values()) & set(ids.values())
    refused(service.certify(again), certificate, "measurement-error")
    refused(service.certify(again, "transcript/1"), certificate, "measurement-error")
    refused(service.certify({**again, "baseline": ids["baseline"]}), certificate, "measurement-error")
    same = service.certify(ids)
    assert (same.status_code, same.json()["certificate"]) == (200, certificate)
    assert in_history(service) == []
    other = service.certify(service.submit(later(world).set("attacked", 1, duration_ms=7)))
    assert in_history(service) == [released(other)]


@SQLITE_ONLY
def test_a_large_pair_is_refused_before_it_is_queued(tmp_path: Path, world: World) -> None:
    _, certificate = revoked(Service.at(tmp_path / "data"), world, "ledger-tampering")
    service = Service.at(tmp_path / "data", wait_episodes=10)
    refused(service.certify(service.submit(later(world))), certificate, "ledger-tampering")


@SQLITE_ONLY
def test_what_is_revoked_while_its_copy_is_queued_answers_with_the_refusal(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Service.at(tmp_path / "data")
    certificate = str(first.certify(first.submit(world)).json()["certificate"])
    service = Service.at(tmp_path / "data", wait_episodes=10)
    monkeypatch.setattr(service.app.state.worker, "wake", lambda: None)
    again = service.submit(later(world))
    queued = service.certify(again)
    assert queued.status_code == 202
    location, job = queued.headers["location"], queued.json()["id"]
    assert service.post(f"/v1/certificates/{certificate}/revoke", {"reason": "measurement-error"}).status_code == 201
    assert work_off(parts_of(service), job, never) == "refused"
    for answer in (service.get(location), service.certify(again)):
        refused(answer, certificate, "measurement-error")
        assert REMEDIES["measurement-error"] in answer.json()["detail"]
    page = service.get(f"/certifications/{job}", headers={"Accept": "text/html"})
    assert page.status_code == 409
    assert certificate in page.text
    assert REMEDIES["measurement-error"] in page.text
    assert "fault of the service" not in page.text
    assert "could not judge" not in page.text
    assert "data-again" not in page.text
    assert work_off(parts_of(service), job, never) == "dropped"
    assert in_history(service) == []


@POSTGRESQL_SLOW
def test_what_is_revoked_while_its_copy_is_judged_is_not_released(service: Service, world: World) -> None:
    parts: Services = service.app.state.services
    ids = service.submit(world)
    certificate = service.certify(ids).json()["certificate"]
    again = service.submit(later(world))
    with parts.database.reading() as tables:
        claim = claim_of(
            tables, parts.policies, benign=again["benign"], attacked=again["attacked"], baseline=again["baseline"], policy="standard/1"
        )
        evidence = evidence_of(tables, claim)
    judged = judge(evidence, parts.ledgers, parts.quality)
    service.post(f"/v1/certificates/{certificate}/revoke", {"reason": "measurement-error"})

    def release(tables: Tables) -> object:
        return settle(tables, judged, parts.signing, parts.new_id, parts.clock())

    with pytest.raises(Conflict, match=certificate):
        parts.database.write(release)
    assert in_history(service) == []
    assert faults(service) == []


def test_every_reason_says_whether_the_numbers_are_wrong() -> None:
    assert set(REASONS) - set(REMEDIES) == {"key-compromise", "submitter-request", "duplicate", "legal"}


@SQLITE_ONLY
def test_a_withdrawn_pair_may_be_handed_in_again(shop: Service) -> None:
    world = measured(1)
    ids, certificate = revoked(shop, world, "submitter-request")
    same = shop.certify(ids)
    assert (same.status_code, same.json()["certificate"]) == (200, certificate)
    released(shop.certify(shop.submit(later(world))))


@SQLITE_ONLY
def test_a_defective_policy_is_no_fault_of_the_measurement(shop: Service) -> None:
    world = measured(2)
    _, certificate = revoked(shop, world, "policy-defect")
    again = shop.submit(later(world))
    refused(shop.certify(again), certificate, "policy-defect")
    released(shop.certify(again, "transcript/1"))


@SQLITE_ONLY
def test_a_mended_suite_makes_the_measurement_another(shop: Service) -> None:
    world = measured(3)
    _, certificate = revoked(shop, world, "checker-defect")
    again = shop.submit(later(world))
    refused(shop.certify(again), certificate, "checker-defect")
    mended = later(world).edit_suite("/tasks/0/checker", f"sha256:{'0' * 64}").edit_suite("/version", "mended")
    released(shop.certify(shop.submit(mended)))


@SQLITE_ONLY
def test_a_superseded_measurement_may_be_certified_again(shop: Service) -> None:
    world = measured(4)
    first = released(shop.certify(shop.submit(world)))
    second = released(shop.certify(shop.submit(world.set("attacked", 2, duration_ms=7))))
    shop.post(f"/v1/certificates/{first}/supersede", {"by": second, "reason": "measurement-error"})
    assert released(shop.certify(shop.submit(later(world)))) not in (first, second)


@POSTGRESQL_SLOW
def test_after_a_theft_the_same_pair_is_certified_again_under_another_serial(service: Service, world: World) -> None:
    ids, stolen = revoked(service, world, "key-compromise")
    first = service.certify(ids)
    new = released(first)
    assert new != stolen
    asked_again = service.certify(ids)
    assert (asked_again.status_code, asked_again.json()) == (200, first.json())
    assert first.json()["report"] == service.get(f"/v1/certificates/{stolen}").json()["report"]
    assert in_history(service) == [new]
    assert service.post(f"/v1/certificates/{new}/revoke", {"reason": "key-compromise"}).status_code == 201
    assert released(service.certify(ids)) not in (stolen, new)
    assert faults(service) == []


@SQLITE_ONLY
def test_after_a_theft_a_large_pair_is_certified_again(tmp_path: Path, world: World) -> None:
    service = Service.at(tmp_path / "data")
    ids, stolen = revoked(service, world, "key-compromise")
    queueing = Service.at(tmp_path / "data", wait_episodes=10)
    answer = queueing.certify(ids)
    assert answer.status_code == 202, answer.text
    done = finished(queueing, answer.headers["location"])
    assert done["certificate"] not in (None, stolen)
    assert queueing.certify(ids).json() == done
    queueing.app.state.worker.stop(20)


@SQLITE_ONLY
def test_a_thief_of_the_revoker_key_takes_nothing_away_for_good(tmp_path: Path, world: World) -> None:
    service = Service.at(tmp_path / "data")
    ids, certificate = revoked(service, world, "measurement-error")
    index = service.get(f"/v1/certificates/{certificate}/status").json()["size"] - 1
    revoke(service.app.state.services.settings.keys_dir, "revoker", index)
    after = Service.at(tmp_path / "data")
    assert released(after.certify(ids)) != certificate
    released(after.certify(after.submit(later(world))))
    assert faults(after) == []


@SQLITE_ONLY
def test_another_organisations_private_revocation_is_its_own(tmp_path: Path) -> None:
    filled: Filled = fill(tmp_path / "data")
    world = World.of(tasks=12, injections=6).edit_run("all", "/started_at", "2026-02-01T00:00:00+00:00")
    submitter, theirs = filled.tokens[MINE, "submitter"], filled.tokens[OTHER, "reviewer"]
    runs = {}
    for role in world.sides:
        runs[role] = filled.done(submitter, "POST", "/v1/runs", world.run(role))["id"]
        filled.done(submitter, "PUT", f"/v1/runs/{runs[role]}/episodes", world.files()[f"{role}/episodes.jsonl"])
    wrong = {"reason": "measurement-error"}
    filled.done(theirs, "POST", f"/v1/certificates/{filled.ids['private certificate']}/revoke", wrong)
    done = filled.done(submitter, "POST", "/v1/certifications", {**runs, "policy": "standard/1"})
    assert done["certificate"] is not None
    filled.done(theirs, "POST", f"/v1/certificates/{filled.ids['closed certificate']}/revoke", wrong)
    answer = filled.call(submitter, "POST", "/v1/certifications", {**runs, "policy": "transcript/1"})
    refused(answer, filled.ids["closed certificate"], "measurement-error")
