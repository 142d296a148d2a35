"""A full disk and a store that cannot be written: said clearly, nothing lost, and reading goes on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairmark.domain.world import World
from tests.service.serving import Service, problem_in


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MiB; mounting one needs root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take every byte that is left."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as out:
        for size in (65_536, 4096, 1):
            try:
                while True:
                    out.write(b"\0" * size)
            except OSError:
                continue
    return ballast


def test_a_full_disk_is_507_and_nothing_is_lost(small_disk: Path, tmp_path: Path) -> None:
    """The store's disk is full; the database lies on another one."""
    service, world = Service.at(tmp_path / "data", store_url=small_disk.as_uri()), World()
    service.register(world)
    benign = world.files()["benign/episodes.jsonl"]
    kept = service.seal(world.run("benign"), benign)
    waiting = service.post("/v1/runs", world.run("attacked")).json()["id"]
    attacked = world.files()["attacked/episodes.jsonl"]
    before = sorted(path.name for path in (small_disk / "objects").rglob("*"))
    ballast = fill(small_disk)
    problem = problem_in(service.upload(waiting, attacked), 507, "store-full")
    assert "No space left on device" in problem.detail
    ready = problem_in(service.get("/readyz"), 503, "store-full")
    assert ready.errors[0].detail.startswith("store: ")
    assert service.get(f"/v1/runs/{kept}/episodes", format="ndjson").content == benign
    assert service.get(f"/v1/runs/{waiting}").json()["state"] == "announced"
    assert sorted(path.name for path in (small_disk / "objects").rglob("*")) == before
    ballast.unlink()
    assert list((small_disk / "scratch").iterdir()) == []
    assert service.get("/readyz").status_code == 200
    assert service.upload(waiting, attacked).status_code == 201
    assert service.get(f"/v1/runs/{waiting}/episodes", format="ndjson").content == attacked


def test_a_disk_that_fills_in_the_middle_of_a_ledger_leaves_nothing_of_it(small_disk: Path, tmp_path: Path) -> None:
    world = World.of(tasks=200, injections=60, groups=1)
    service = Service.at(tmp_path / "data", store_url=small_disk.as_uri())
    service.register(world)
    run_id = service.post("/v1/runs", world.run("attacked")).json()["id"]
    ledger = world.files()["attacked/episodes.jsonl"]
    ballast = small_disk / "ballast"
    left = len(ledger) + 64 * 1024  # the body as sent still fits, the object beside it does not
    ballast.write_bytes(b"\0" * (shutil.disk_usage(small_disk).free - left))
    problem_in(service.upload(run_id, ledger), 507, "store-full")
    assert list((small_disk / "scratch").iterdir()) == []
    assert [path for path in (small_disk / "objects").rglob("*") if path.is_file()] == []
    ballast.unlink()
    assert service.upload(run_id, ledger).status_code == 201


def test_a_full_disk_under_the_database_is_said_and_reading_goes_on(small_disk: Path) -> None:
    service, world = Service.at(small_disk), World()
    service.register(world)
    ballast = fill(small_disk)
    problem = problem_in(service.post("/v1/runs", world.run("benign")), 503, "database-unavailable")
    assert "full" in problem.detail or "disk I/O error" in problem.detail
    assert service.get("/v1/suites").json()["items"][0]["name"] == world.suite_manifest()["suite"]
    ballast.unlink()
    run_id = service.post("/v1/runs", world.run("benign")).json()["id"]
    assert service.upload(run_id, world.files()["benign/episodes.jsonl"]).status_code == 201


def test_a_store_that_became_read_only_keeps_reading(small_disk: Path, tmp_path: Path) -> None:
    service, world = Service.at(tmp_path / "data", store_url=small_disk.as_uri()), World()
    service.register(world)
    benign = world.files()["benign/episodes.jsonl"]
    kept = service.seal(world.run("benign"), benign)
    waiting = service.post("/v1/runs", world.run("attacked")).json()["id"]
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    try:
        problem = problem_in(service.upload(waiting, world.files()["attacked/episodes.jsonl"]), 503, "store-unavailable")
        assert "Read-only file system" in problem.detail
        problem_in(service.get("/readyz"), 503, "store-unavailable")
        assert service.get(f"/v1/runs/{kept}/episodes", format="ndjson").content == benign
        again = Service.at(tmp_path / "data", store_url=small_disk.as_uri())
        assert again.get(f"/v1/runs/{kept}/episodes", format="parquet").content[:4] == b"PAR1"
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert service.upload(waiting, world.files()["attacked/episodes.jsonl"]).status_code == 201
