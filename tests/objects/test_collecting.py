"""`pairmark gc`: only what nothing names and nobody is about to name goes, and only on request."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.adapters.ledgers.ingest import LedgerFormat
from pairmark.adapters.ledgers.objects import FileObjectStore, key_of
from pairmark.adapters.objects.collecting import collect
from pairmark.domain.errors import Conflict
from pairmark.domain.world import World
from tests.cli.running import Here
from tests.ledgers.making import digest
from tests.service.serving import Service, problem_in

DAY = 24 * 3600.0


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)


def age(folder: Path, seconds: float) -> None:
    """Let every object have been put so long ago."""
    then = time.time() - seconds
    for path in (folder / "objects").rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Path, Service, str]:
    """A certified pair, a ledger that was uploaded for nobody, and its digest."""
    service = Service.at(tmp_path / "data")
    answer = service.certify(service.submit(World()))
    assert answer.status_code == 201
    stray = digest("stray")
    service.app.state.services.ledgers.objects.put_if_absent(stray, b"left by an interrupted upload")
    age(tmp_path / "data", 2 * DAY)
    return tmp_path / "data", service, stray


def test_a_dry_run_names_what_would_go_and_touches_nothing(filled: tuple[Path, Service, str], here: Here) -> None:
    folder, service, stray = filled
    done = here("gc", "--data", folder)
    assert done.code == 0, done.err
    assert stray in done.out
    assert "1 objects of 29 bytes that nothing names; --delete removes them" in done.out
    assert service.app.state.services.ledgers.objects.exists(stray)


def test_what_a_document_or_a_certificate_names_stays(filled: tuple[Path, Service, str], here: Here) -> None:
    folder, service, stray = filled
    objects = service.app.state.services.ledgers.objects
    before = {each.digest for each in objects.kept()}
    done = here("gc", "--delete", "--data", folder)
    assert "1 of 1 objects that nothing names removed" in done.out
    assert {each.digest for each in objects.kept()} == before - {stray}
    flips = {each.digest for each in objects.kept() if not objects.verify(each.digest)}
    assert len(flips) == 1, "the list of flips is no ledger, and is kept since the report names it"
    assert "nothing to remove" in here("gc", "--delete", "--data", folder).out


def test_what_is_young_stays_whoever_names_it(filled: tuple[Path, Service, str], here: Here) -> None:
    folder, service, stray = filled
    age(folder, 3600 * 5)
    assert "nothing to remove" in here("gc", "--data", folder).out
    assert stray in here("gc", "--data", folder, "--older-than", "4").out
    done = here("gc", "--data", folder, "--older-than", "0.5")
    assert done.code == 2
    assert "at least 1 hour" in done.err
    assert service.app.state.services.ledgers.objects.exists(stray)


def test_an_upload_of_an_old_unnamed_object_makes_it_young(tmp_path: Path) -> None:
    service, world = Service.at(tmp_path), World()
    service.register(world)
    ledger = world.files()["benign/episodes.jsonl"]
    objects = service.app.state.services.ledgers.objects
    key = world.run("benign")["episodes"]["digest"]
    with service.app.state.services.ledgers.room() as file:
        file.write(ledger)
        file.seek(0)
        with service.app.state.services.ledgers.incoming(file, LedgerFormat("jsonl")) as incoming:
            incoming.keep()
    age(tmp_path, 2 * DAY)
    found = collect(objects, lambda _: set(), now=time.time())
    assert [each.digest for each in found.unnamed] == [key]
    run_id = service.post("/v1/runs", world.run("benign")).json()["id"]
    assert service.upload(run_id, ledger).status_code == 201
    assert objects.remove_if_older(key, time.time() - DAY) is False
    assert service.get(f"/v1/runs/{run_id}/episodes", format="ndjson").content == ledger


def test_a_database_that_names_nothing_is_taken_for_the_wrong_one(tmp_path: Path, here: Here, filled: tuple[Path, Service, str]) -> None:
    folder, service, _ = filled
    before = {each.digest for each in service.app.state.services.ledgers.objects.kept()}
    Service.at(tmp_path / "other")
    os.environ["PAIRMARK_STORE_URL"] = folder.as_uri()
    try:
        done = here("gc", "--delete", "--data", tmp_path / "other")
    finally:
        del os.environ["PAIRMARK_STORE_URL"]
    assert done.code == 1
    assert "belong together" in done.err
    assert {each.digest for each in service.app.state.services.ledgers.objects.kept()} == before
    assert here("gc", "--data", tmp_path / "none").code == 2


@settings(max_examples=30)
@given(
    ages=st.lists(st.floats(0.0, 20 * DAY), min_size=1, max_size=8), named=st.sets(st.integers(0, 7)),
    limit=st.floats(1.0, 400.0), delete=st.booleans(),
)  # fmt: skip
def test_exactly_the_old_and_unnamed_go(
    ages: list[float], named: set[int], limit: float, delete: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("store")
    store, now = FileObjectStore(folder), time.time()
    keys = [digest(f"object {number}") for number in range(len(ages))]
    for key, seconds in zip(keys, ages, strict=True):
        store.put_if_absent(key, key.encode())
        os.utime(folder / key_of(key), (now - seconds, now - seconds))
    changed = {each.digest: each.changed for each in store.kept()}
    kept = {keys[number] for number in named if number < len(keys)}
    old = {key for key in keys if changed[key] < now - limit * 3600}
    unnamed = old - kept
    if delete and unnamed and not old & kept:
        with pytest.raises(Conflict):
            collect(store, lambda asked: kept & set(asked), now=now, older_than_hours=limit, delete=True)
        unnamed = set()
    else:
        found = collect(store, lambda asked: kept & set(asked), now=now, older_than_hours=limit, delete=delete)
        assert {each.digest for each in found.unnamed} == unnamed
        assert found.young == len(keys) - len(old)
        assert found.removed == (len(unnamed) if delete else 0)
    assert {each.digest for each in store.kept()} == set(keys) - (unnamed if delete else set())


def test_a_removed_ledger_is_damage_and_not_silence(filled: tuple[Path, Service, str]) -> None:
    _, service, _ = filled
    objects = service.app.state.services.ledgers.objects
    for each in list(objects.kept()):
        objects.remove_if_older(each.digest, time.time())
    (certified,) = service.get("/v1/history", suite="synthetic/office@v1").json()["items"]
    problem_in(service.get(f"/v1/certificates/{certified['certificate']}/flips"), 500, "internal-error")
