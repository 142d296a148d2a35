"""Two at once, over real connections: one winner, the other a clear answer, never two records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from tests.databases import rows_of
from tests.service.serving import JSON, NDJSON, announced, listening, problem_in

AT_ONCE = 8


@pytest.fixture(scope="module")
def folder(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared") / "data"


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with listening(folder) as found:
        yield found


def all_at_once(url: str, ask: Callable[[httpx.Client, int], httpx.Response]) -> list[httpx.Response]:
    """The same call from several connections, let go together."""
    gate = Barrier(AT_ONCE)

    def one(number: int) -> httpx.Response:
        with httpx.Client(base_url=url, timeout=60) as client:
            client.get("/healthz")
            gate.wait(30)
            return ask(client, number)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(one, range(AT_ONCE)))


def labelled(version: str) -> World:
    return World().edit_suite("/version", version)


def test_equal_registrations(url: str, folder: Path) -> None:
    body = canonical_bytes(labelled("equal").suite_manifest())
    answers = all_at_once(url, lambda client, _: client.post("/v1/suites", content=body, headers=JSON))
    assert sorted(answer.status_code for answer in answers) == [200] * (AT_ONCE - 1) + [201]
    assert len({answer.content for answer in answers}) == 1
    assert len(rows_of(folder, "SELECT * FROM suites WHERE version = 'equal'")) == 1


def test_different_registrations_under_one_label(url: str, folder: Path) -> None:
    def ask(client: httpx.Client, number: int) -> httpx.Response:
        world = labelled("contested").edit_suite("/tasks/0/checker", f"sha256:{number:064x}")
        return client.post("/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON)

    answers = all_at_once(url, ask)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * (AT_ONCE - 1)
    for answer in answers:
        if answer.status_code == 409:
            problem_in(answer, 409, "suite-label-taken")
    assert len(rows_of(folder, "SELECT * FROM suites WHERE version = 'contested'")) == 1


def test_one_announcement_under_one_key(url: str, folder: Path) -> None:
    world = labelled("keyed")
    httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON)
    body = canonical_bytes(announced(world.run("benign")))
    before = len(rows_of(folder, "SELECT id FROM runs"))
    headers = {**JSON, "Idempotency-Key": "announce-me"}
    answers = all_at_once(url, lambda client, _: client.post("/v1/runs", content=body, headers=headers))
    for answer in answers:
        if answer.status_code == 409:
            problem_in(answer, 409, "request-in-flight")
            assert int(answer.headers["retry-after"]) >= 1
    made = [answer for answer in answers if answer.status_code == 201]
    assert len(made) + sum(answer.status_code == 409 for answer in answers) == AT_ONCE
    assert len({answer.json()["id"] for answer in made}) == 1
    assert len(rows_of(folder, "SELECT id FROM runs")) == before + 1
    assert httpx.post(f"{url}/v1/runs", content=body, headers=headers).json() == made[0].json()


def test_equal_uploads_to_one_run(url: str, folder: Path) -> None:
    world = labelled("uploads")
    httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON)
    run_id = httpx.post(f"{url}/v1/runs", content=canonical_bytes(world.run("attacked")), headers=JSON).json()["id"]
    ledger = world.files()["attacked/episodes.jsonl"]
    answers = all_at_once(url, lambda client, _: client.put(f"/v1/runs/{run_id}/episodes", content=ledger, headers=NDJSON))
    assert sorted(answer.status_code for answer in answers) == [200] * (AT_ONCE - 1) + [201]
    assert len(rows_of(folder, f"SELECT * FROM run_seals WHERE run = '{run_id}'")) == 1
    assert list((folder / "scratch").iterdir()) == []


def test_a_right_and_many_wrong_uploads_to_one_run(url: str, folder: Path) -> None:
    world = labelled("wrong uploads").set("attacked", duration_ms=77)
    httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON)
    run_id = httpx.post(f"{url}/v1/runs", content=canonical_bytes(world.run("attacked")), headers=JSON).json()["id"]
    ledger = world.files()["attacked/episodes.jsonl"]
    wrong = ledger.replace(b'"duration_ms":77', b'"duration_ms":78')

    def ask(client: httpx.Client, number: int) -> httpx.Response:
        return client.put(f"/v1/runs/{run_id}/episodes", content=wrong if number else ledger, headers=NDJSON)

    answers = all_at_once(url, ask)
    assert answers[0].status_code == 201
    for answer in answers[1:]:
        assert answer.status_code in (409, 422)
        problem_in(answer, answer.status_code, "run-sealed" if answer.status_code == 409 else "digest-mismatch")
    assert httpx.get(f"{url}/v1/runs/{run_id}/episodes?format=ndjson").content == ledger


def test_filling_in_and_sealing_at_once(url: str) -> None:
    world = labelled("amended")
    httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON)
    run = {**world.run("attacked"), "started_at": None}
    run_id = httpx.post(f"{url}/v1/runs", content=canonical_bytes(run), headers=JSON).json()["id"]
    ledger = world.files()["attacked/episodes.jsonl"]

    def ask(client: httpx.Client, number: int) -> httpx.Response:
        if number == 0:
            return client.put(f"/v1/runs/{run_id}/episodes", content=ledger, headers=NDJSON)
        started = f"2026-01-0{number}T00:00:00Z"
        return client.put(f"/v1/runs/{run_id}", content=canonical_bytes({**run, "started_at": started}), headers=JSON)

    answers = all_at_once(url, ask)
    assert answers[0].status_code == 201
    assert sum(answer.status_code == 200 for answer in answers[1:]) <= 1
    for answer in answers[1:]:
        if answer.status_code != 200:
            problem_in(answer, 409, answer.json()["code"])
            assert answer.json()["code"] in ("run-sealed", "differs-from-announced")
    sealed = httpx.get(f"{url}/v1/runs/{run_id}").json()
    winner = next((answer.json()["run"] for answer in answers[1:] if answer.status_code == 200), run)
    assert (sealed["state"], sealed["run"]) == ("sealed", winner)


def test_certifications_of_one_pair(url: str, folder: Path) -> None:
    world = labelled("certified")
    httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON)
    ids = {}
    for role in world.sides:
        ids[role] = httpx.post(f"{url}/v1/runs", content=canonical_bytes(world.run(role)), headers=JSON).json()["id"]
        answer = httpx.put(f"{url}/v1/runs/{ids[role]}/episodes", content=world.files()[f"{role}/episodes.jsonl"], headers=NDJSON)
        assert answer.status_code in (200, 201)
    body = canonical_bytes({**ids, "policy": "standard/1"})
    answers = all_at_once(url, lambda client, _: client.post("/v1/certifications", content=body, headers=JSON))
    assert sorted(answer.status_code for answer in answers) == [200] * (AT_ONCE - 1) + [201]
    assert len({answer.content for answer in answers}) == 1
    assert len(rows_of(folder, f"SELECT id FROM certifications WHERE benign = '{ids['benign']}'")) == 1
    assert len(rows_of(folder, f"SELECT c.id FROM certificates c JOIN certifications n ON c.certification = n.id WHERE n.benign = '{ids['benign']}'")) == 1


def certified(url: str, world: World) -> dict[str, Any]:
    """A pair handed in and certified."""
    httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON)
    ids = {}
    for role in world.sides:
        ids[role] = httpx.post(f"{url}/v1/runs", content=canonical_bytes(world.run(role)), headers=JSON).json()["id"]
        httpx.put(f"{url}/v1/runs/{ids[role]}/episodes", content=world.files()[f"{role}/episodes.jsonl"], headers=NDJSON)
    answer = httpx.post(f"{url}/v1/certifications", content=canonical_bytes({**ids, "policy": "standard/1"}), headers=JSON, timeout=60)
    assert answer.json()["report"]["verdict"] == "certified", answer.text
    return dict(answer.json())


def test_revoking_superseding_and_releasing_over_one_defect_at_once(url: str, folder: Path) -> None:
    world = labelled("defect").edit_suite("/tasks/0/checker", "sha256:" + "d" * 64)
    first = certified(url, world)["certificate"]
    second = certified(url, world.set("attacked", 1, duration_ms=1))["certificate"]
    third = world.set("attacked", 1, duration_ms=2)
    ids = {}
    for role in third.sides:
        ids[role] = httpx.post(f"{url}/v1/runs", content=canonical_bytes(third.run(role)), headers=JSON).json()["id"]
        httpx.put(f"{url}/v1/runs/{ids[role]}/episodes", content=third.files()[f"{role}/episodes.jsonl"], headers=NDJSON)

    def ask(client: httpx.Client, number: int) -> httpx.Response:
        if number == 0:
            return client.post("/v1/certifications", content=canonical_bytes({**ids, "policy": "standard/1"}), headers=JSON)
        if number == 1:
            body = {"reason": "checker-defect", "digest": "sha256:" + "d" * 64, "dry_run": False}
            return client.post("/v1/cascades", content=canonical_bytes(body), headers=JSON)
        if number == 2:
            body = {"by": second, "reason": "duplicate"}
            return client.post(f"/v1/certificates/{first}/supersede", content=canonical_bytes(body), headers=JSON)
        return client.post(f"/v1/certificates/{first}/revoke", content=canonical_bytes({"reason": "legal"}), headers=JSON)

    answers = all_at_once(url, ask)
    released = answers[0].json()["certificate"]
    assert answers[0].status_code == 201
    assert answers[1].status_code in (201, 409)
    revoked = [answer for answer in answers[3:] if answer.status_code in (200, 201)]
    for answer in answers[1:]:
        if answer.status_code not in (200, 201):
            problem_in(answer, 409, answer.json()["code"])
            assert answer.json()["code"] in ("already-revoked", "not-valid", "nothing-depends"), answer.text
    cascaded = answers[1].json()["change"]["certificates"] if answers[1].status_code == 201 else []
    # One of them ended it; whoever came later was told so.
    assert len(revoked) + (first in cascaded) == 1
    standing = {one: httpx.get(f"{url}/v1/certificates/{one}/status").json()["status"] for one in (first, second, released)}
    assert standing[first] == "revoked"
    assert standing[second] == ("revoked" if second in cascaded else "valid")
    # The release came before the cascade and is in it, or after it and stands.
    assert standing[released] == ("revoked" if released in cascaded else "valid")
    shown = {one: rows_of(folder, f"SELECT status FROM history_entries WHERE id = '{one}'")[0][0] for one in standing}
    assert shown == standing


def test_readers_are_served_while_ledgers_come_in(url: str) -> None:
    def ask(client: httpx.Client, number: int) -> httpx.Response:
        if number % 2:
            return client.get("/readyz")
        world = labelled(f"busy {number}").set("benign", duration_ms=number)
        client.post("/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON)
        run_id = client.post("/v1/runs", content=canonical_bytes(world.run("benign")), headers=JSON).json()["id"]
        return client.put(f"/v1/runs/{run_id}/episodes", content=world.files()["benign/episodes.jsonl"], headers=NDJSON)

    assert all(answer.status_code in (200, 201) for answer in all_at_once(url, ask))
