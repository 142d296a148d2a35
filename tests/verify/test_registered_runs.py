"""Best of many, tried through the service: announce without saying of what, name the best one afterwards, certify it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.app.log_read import newest_checkpoint
from pairmark.domain.canonical import canonical_bytes, digest_of_bytes, suite_digest
from pairmark.domain.world import World
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.dsse import parse_envelope
from pairmark.provenance.entries import Announcement
from pairmark.provenance.log_export import export_lines
from pairmark.provenance.registrations import SystemNames, registered
from pairmark.provenance.statement import read_statement
from pairmark.verify import Verification, verify_bundle
from tests.provenance.making import AT, KEYS, Log, announce, bundle_at, chain_of, release, signed_by
from tests.service.serving import Service, announced
from tests.verify.make_corpus import world_pair

UNSAID: dict[str, dict[str, Any]] = {
    "no model": {"model": None},
    "no defenses": {"defenses": None},
    "no provider": {"provider": None},
    "nothing": {"model": None, "defenses": None},
}


def left_open(run: dict[str, Any], unsaid: dict[str, Any]) -> dict[str, Any]:
    """The run as somebody announces it who means to choose afterwards what it was of."""
    found = announced(run)
    for key, value in unsaid.items():
        if key == "provider":
            found["system"]["model"]["provider"] = value
        else:
            found["system"][key] = value
    return found


def verified(service: Service, certificate: str) -> Verification:
    """What a stranger finds who has the bundle, the trust root and the whole log."""
    with service.app.state.services.database.reading() as tables:
        head = newest_checkpoint(tables)
        records = tables.log.page(0, head.size)
    log = b"".join(export_lines(((record.entry, record.envelope) for record in records), head.note))
    return verify_bundle(service.get(f"/v1/certificates/{certificate}/bundle").content, trust=service.get("/v1/log/trust").content, log=log)


@pytest.mark.parametrize("name", UNSAID)
def test_tries_announced_without_a_system_are_counted_when_the_best_is_named(tmp_path: Path, name: str) -> None:
    service, world = Service.at(tmp_path / "data"), World()
    service.register(world)
    run = world.run("attacked")
    tries = [service.post("/v1/runs", left_open(run, UNSAID[name])).json()["id"] for _ in range(5)]
    amended = service.put(f"/v1/runs/{tries[2]}", run)
    assert amended.status_code == 200, amended.text
    ids = service.submit(world)
    assert service.upload(tries[2], world.files()["attacked/episodes.jsonl"]).status_code in (200, 201)
    found = service.certify({**ids, "attacked": tries[2]}).json()
    assert found["certificate"] is not None, found
    done = verified(service, found["certificate"])
    statement = read_statement(parse_bundle(service.get(f"/v1/certificates/{found['certificate']}/bundle").content).certificate.envelope.payload)
    counted = statement.predicate.registrations.attacked
    assert counted.of is not None
    assert counted.of.requested == run["system"]["model"]["requested"]
    assert (counted.announced - counted.after_the_fact, counted.unfinished) == (5, 4)
    assert (done.exit_code, "announced runs counted again" in done.steps[3].message) == (0, True)


def test_a_certificate_that_hides_the_open_ones_is_found_out() -> None:
    pair, log, trust = world_pair(World()), Log(), chain_of().content()
    unsaid = SystemNames(requested=None, provider=None, defenses=None).key()
    suite = suite_digest(pair.manifest)
    for number in range(4):
        log.add(Announcement(run=f"try-{number}", document=suite, suite=suite, system=unsaid, arm="attacked", after_the_fact=False, at=AT))
    announce(log, pair)
    honest = bundle_at(log, release(log, pair, "c1"))
    counted = read_statement(parse_bundle(honest).certificate.envelope.payload).predicate.registrations.attacked
    assert (counted.announced, counted.unfinished) == (6, 5)
    assert verify_bundle(honest, trust=trust, log=log.export()).failed == ()
    index = release(log, pair, "c2")
    _say_instead(log, index, {**counted.model_dump(mode="json", by_alias=True), "announced": 2, "unfinished": 1})
    assert verify_bundle(bundle_at(log, index), trust=trust, log=log.export()).failed == ("statement",)


def test_a_certificate_that_counts_another_system_is_found_out_with_the_runs(tmp_path: Path) -> None:
    world = World()
    for name, content in world.files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    pair, log, trust = world_pair(world), Log(), chain_of().content()
    announce(log, pair)
    index = release(log, pair, "c1")
    other = registered(SystemNames(requested="never-tried", provider=None, defenses=()), 0, 0, 0)
    _say_instead(log, index, other.model_dump(mode="json", by_alias=True))
    assert verify_bundle(bundle_at(log, index), trust=trust, log=log.export()).failed == ()
    assert verify_bundle(bundle_at(log, index), trust=trust, log=log.export(), artifacts=tmp_path).failed == ("artifacts",)


def _say_instead(log: Log, index: int, attacked: dict[str, Any]) -> None:
    """Sign a certificate again that counts otherwise, in the place of the one at an index."""
    entry, envelope = log.entries[index]
    value = json.loads(parse_envelope(envelope or b"").payload)
    value["predicate"]["registrations"]["attacked"] = attacked
    again = signed_by(KEYS["certifier"], canonical_bytes(value)).content()
    log.entries[index] = (entry.replace(digest_of_bytes(envelope or b"").encode(), digest_of_bytes(again).encode()), again)
