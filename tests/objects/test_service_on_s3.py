"""The whole service with its ledgers in S3-compatible storage; two servers on one store."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pairmark.adapters.objects.collecting import collect
from pairmark.adapters.sql.references import named_in
from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.world import World
from tests.ledgers.making import digest
from tests.objects.conftest import S3Server, free_port
from tests.objects.faults import proxy
from tests.service.serving import Service, problem_in


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_a_pair_is_certified_and_read_back_byte_for_byte(s3: S3Server, tmp_path: Path, world: World) -> None:
    service = Service.at(tmp_path / "data", store_url=s3.store_url())
    ids = service.submit(world)
    answer = service.certify(ids)
    assert answer.status_code == 201, answer.text
    assert answer.json()["report"]["verdict"] == "certified"
    ledger = world.files()["attacked/episodes.jsonl"]
    read = f"/v1/runs/{ids['attacked']}/episodes"
    assert service.get(read, format="ndjson").content == ledger
    assert service.get(read, format="ndjson", utility="true").content.count(b"\n") == ledger.count(b'"utility":true')
    assert len(service.get(read, limit="5").json()["items"]) == 5
    assert service.get(read, format="parquet").content[:4] == b"PAR1"
    flips = service.get(f"/v1/certificates/{answer.json()['certificate']}/flips")
    assert digest_of_bytes(flips.content) == answer.json()["report"]["metrics"]["flips"]["cells_digest"]
    assert not (tmp_path / "data" / "objects").exists()
    assert service.upload(ids["attacked"], ledger).status_code == 200


def test_servers_that_share_a_store_read_each_others_ledgers(s3: S3Server, tmp_path: Path, world: World) -> None:
    url = s3.store_url()
    one, other = (Service.at(tmp_path / name, store_url=url) for name in ("one", "other"))
    one.submit(world)
    ledger = world.files()["benign/episodes.jsonl"]
    digest = world.run("benign")["episodes"]["digest"]
    roots = {service.app.state.services.ledgers.rows_root(digest) for service in (one, other)}
    assert len(roots) == 1
    assert other.app.state.services.ledgers.frame(digest).height == ledger.count(b"\n")


def test_a_store_that_goes_away_is_503_and_nothing_is_half_stored(s3: S3Server, tmp_path: Path, world: World) -> None:
    with proxy(s3.url) as (url, faults):
        bucket = s3.bucket()
        service = Service.at(tmp_path / "data", store_url=f"s3://{bucket}?endpoint={url}&region=us-east-1", store_seconds=1)
        service.register(world)
        run_id = service.post("/v1/runs", world.run("benign")).json()["id"]
        ledger = world.files()["benign/episodes.jsonl"]
        faults.refuse = 1_000_000
        problem_in(service.upload(run_id, ledger), 503, "store-unavailable")
        problem_in(service.get("/readyz"), 503, "store-unavailable")
        assert service.get("/healthz").status_code == 200
        assert service.get(f"/v1/runs/{run_id}").json()["state"] == "announced"
        faults.refuse = 0
        assert service.upload(run_id, ledger).status_code == 201
        faults.refuse = 1_000_000
        problem_in(service.get(f"/v1/runs/{run_id}/episodes"), 503, "store-unavailable")
        faults.refuse = 0
        assert service.get(f"/v1/runs/{run_id}/episodes", format="ndjson").content == ledger


def test_a_service_starts_without_its_store_and_says_that_it_is_not_ready(s3: S3Server, tmp_path: Path) -> None:
    service = Service.at(tmp_path, store_url=f"s3://bucket?endpoint=http://127.0.0.1:{free_port()}&region=us-east-1", store_seconds=1)
    assert service.get("/healthz").status_code == 200
    problem_in(service.get("/readyz"), 503, "store-unavailable")


def test_what_nothing_names_is_collected_from_a_bucket_too(s3: S3Server, tmp_path: Path, world: World) -> None:
    service = Service.at(tmp_path, store_url=s3.store_url())
    ids = service.submit(world)
    assert service.certify(ids).status_code == 201
    parts, stray = service.app.state.services, digest("stray")
    kept = {each.digest for each in parts.ledgers.objects.kept()}
    parts.ledgers.objects.put_if_absent(stray, b"left by an interrupted upload")
    later = time.time() + 2 * 24 * 3600
    for delete in (False, True):
        found = collect(parts.ledgers.objects, lambda asked: named_in(parts.database, asked), now=later, delete=delete)
        assert ([each.digest for each in found.unnamed], found.removed) == ([stray], int(delete))
    assert {each.digest for each in parts.ledgers.objects.kept()} == kept
    assert service.get(f"/v1/runs/{ids['benign']}/episodes", format="ndjson").content == world.files()["benign/episodes.jsonl"]
