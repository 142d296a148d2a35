"""One result for each pair, whoever works on it, whenever it is cancelled."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from pairmark.app import work_off as working
from pairmark.app.errors import Unavailable
from pairmark.app.stages import Progress, Stage, progress_at
from pairmark.app.work_off import DEATHS, HandedBack, Parts, work_off
from pairmark.domain.world import World
from pairmark.http.models import CertificationAnswer
from tests.databases import rows_of
from tests.jobs.holding import held_at
from tests.service.serving import Service, problem_in


def parts_of(service: Service) -> Parts:
    services = service.app.state.services
    return Parts(services.database, services.ledgers, services.quality, services.signing, services.new_id, services.clock)


def never() -> bool:
    return False


def promised(service: Service, world: World) -> tuple[dict[str, str], str]:
    """The runs' ids, and the id of the certification that is queued."""
    ids = service.submit(world)
    answer = service.certify(ids)
    assert answer.status_code == 202, answer.text
    return ids, str(answer.json()["id"])


def counted(folder: Path, table: str) -> int:
    return int(rows_of(folder, f"SELECT count(*) FROM {table}")[0][0])


def test_further_steps_never_have_a_smaller_share() -> None:
    steps = [(stage, done, of) for stage in get_args(Stage) for of in (0, 1, 3, 17) for done in range(max(of, 1))]
    for of in (0, 1, 3, 17):
        shares = [progress_at(*step).percent for step in steps if step[2] == of]
        assert shares == sorted(shares)
    assert all(0 <= progress_at(*step).percent < 100 for step in steps)


def test_progress_is_shown_while_it_waits_and_never_goes_back(service: Service, world: World) -> None:
    ids, job_id = promised(service, world)
    database = service.app.state.services.database

    def shown() -> dict[str, Any]:
        answer = service.get(f"/v1/certifications/{job_id}")
        assert answer.status_code == 202
        CertificationAnswer.model_validate_json(answer.content)
        return dict(answer.json()["progress"])

    assert shown() == {"stage": "queued", "done": 0, "steps": 0, "percent": 0}
    for progress in (progress_at("rules", 4, 16), progress_at("reading", 1, 3)):
        assert database.write(lambda tables, to=progress: tables.jobs.move(job_id, to))
        assert shown() == {"stage": "rules", "done": 4, "steps": 16, "percent": 42}
    assert not database.write(lambda tables: tables.jobs.move("certification-0", Progress("rules", 0, 1, 30)))
    assert service.certify(ids).json()["progress"]["percent"] == 42


def test_twenty_equal_requests_queue_one_job(service: Service, world: World, folder: Path, kind: str) -> None:
    ids = service.submit(world)
    with ThreadPoolExecutor(20) as threads:
        answers: list[httpx.Response] = list(threads.map(lambda _: service.certify(ids), range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sorted(answer.headers["pairmark-queued"] for answer in answers) == ["before"] * 19 + ["now"]
    assert counted(folder, "certification_jobs") == 1
    if kind == "postgresql":
        assert counted(folder, "procrastinate_jobs") == 1


def test_two_who_work_on_one_job_record_one_result(service: Service, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, job_id = promised(service, world)
    both = threading.Barrier(2)
    monkeypatch.setattr(working, "_Watch", held_at("recording", lambda: both.wait(120), lambda: True))
    with ThreadPoolExecutor(2) as threads:
        endings = list(threads.map(lambda _: work_off(parts_of(service), job_id, never), range(2)))
    assert sorted(endings) == ["done", "dropped"]
    assert (counted(folder, "certifications"), counted(folder, "certificates"), counted(folder, "certification_jobs")) == (1, 1, 0)
    assert service.get(f"/v1/certifications/{job_id}").status_code == 200


@pytest.mark.parametrize("stage", get_args(Stage))
def test_cancelled_at_any_stage_it_has_no_result_and_begins_afresh(
    service: Service, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage
) -> None:
    ids, job_id = promised(service, world)
    arrived, gone = threading.Event(), threading.Event()
    path = f"/v1/certifications/{job_id}"
    with ThreadPoolExecutor(1) as threads, monkeypatch.context() as patch:
        patch.setattr(working, "_Watch", held_at(stage, arrived.set, gone.is_set))
        ending = None
        if stage != "queued":
            ending = threads.submit(work_off, parts_of(service), job_id, never)
            assert arrived.wait(120)
        cancelled = service.call("DELETE", path)
        gone.set()
        assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
        CertificationAnswer.model_validate_json(cancelled.content)
        assert (ending.result(120) if ending is not None else work_off(parts_of(service), job_id, never)) == "dropped"
    problem_in(service.get(path), 410, "certification-cancelled")
    assert service.call("DELETE", path).json() == cancelled.json()
    assert (counted(folder, "certifications"), counted(folder, "certificates"), counted(folder, "certification_jobs")) == (0, 0, 0)
    again = service.certify(ids)
    assert (again.status_code, again.headers["pairmark-queued"]) == (202, "now")
    assert again.json()["id"] != job_id
    if stage == "rules":
        assert work_off(parts_of(service), again.json()["id"], never) == "done"
        problem_in(service.call("DELETE", again.headers["location"]), 409, "already-done")
        problem_in(service.get(path), 410, "certification-cancelled")


def test_what_is_not_there_cannot_be_cancelled(service: Service) -> None:
    problem_in(service.call("DELETE", "/v1/certifications/certification-0"), 404, "unknown-certification")
    problem_in(service.call("DELETE", "/v1/certifications/%00"), 404, "unknown-certification")


def test_a_worker_that_is_told_to_stop_hands_back(service: Service, world: World, folder: Path) -> None:
    _, job_id = promised(service, world)
    with pytest.raises(HandedBack):
        work_off(parts_of(service), job_id, lambda: True)
    assert rows_of(folder, "SELECT begun, problem FROM certification_jobs") == [(0, None)]
    assert work_off(parts_of(service), job_id, never) == "done"


def test_a_store_that_is_away_is_waited_for(service: Service, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, job_id = promised(service, world)
    parts = parts_of(service)

    def away(_digest: str) -> object:
        raise Unavailable("store-unavailable", "expected the store to answer, found it away", "later")

    with monkeypatch.context() as patch:
        patch.setattr(parts.ledgers, "frame", away)
        with pytest.raises(Unavailable):
            work_off(parts, job_id, never)
    assert rows_of(folder, "SELECT begun, problem FROM certification_jobs") == [(0, None)]
    assert work_off(parts, job_id, never) == "done"


def test_a_job_that_kills_its_workers_is_given_up_and_may_be_asked_for_again(service: Service, world: World) -> None:
    ids, job_id = promised(service, world)
    database = service.app.state.services.database
    for number in range(1, DEATHS + 1):
        assert database.write(lambda tables: tables.jobs.take_up(job_id)) == number
    assert work_off(parts_of(service), job_id, never) == "dropped"
    problem_in(service.get(f"/v1/certifications/{job_id}"), 500, "certification-failed")
    assert service.certify(ids).json()["id"] == job_id
    assert work_off(parts_of(service), job_id, never) == "done"


def test_a_result_that_was_not_waited_for_is_the_promised_one(service: Service, world: World, folder: Path) -> None:
    ids, job_id = promised(service, world)
    answer = Service.at(folder).certify(ids)
    assert (answer.status_code, answer.json()["id"]) == (201, job_id)
    assert work_off(parts_of(service), job_id, never) == "dropped"
    assert counted(folder, "certification_jobs") == 0
    assert service.get(f"/v1/certifications/{job_id}").json() == answer.json()
