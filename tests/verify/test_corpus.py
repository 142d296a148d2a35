"""The frozen corpus: what was released once must verify for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.statement import read_statement
from pairmark.provenance.trust import parse_trust
from pairmark.verify import Verification, verify_bundle

CORPUS = Path(__file__).parent / "corpus"
KINDS_CORPUS = Path(__file__).parent / "corpus-kinds"
STANDING = {"certificate": 0, "old-key": 0, "superseded": 5, "revoked": 4, "revoked-hidden": 4}


def read(name: str) -> bytes:
    return (CORPUS / name).read_bytes()


@pytest.mark.parametrize("name", STANDING)
def test_a_released_certificate_verifies_with_the_whole_log(name: str) -> None:
    found = verify_bundle(read(f"{name}.json"), trust=read("trust.json"), log=read("log.jsonl"))
    assert (found.exit_code, found.unchecked) == (STANDING[name], ("artifacts", "numbers", "policy", "history"))


@pytest.mark.parametrize("name", ["certificate", "old-key"])
def test_its_numbers_come_out_of_its_ledgers_again(name: str) -> None:
    found = verify_bundle(read(f"{name}.json"), trust=read("trust.json"), log=read("log.jsonl"), artifacts=CORPUS / "artifacts")
    assert (found.exit_code, found.unchecked) == (0, ("history",)), found.steps


@pytest.mark.parametrize(("name", "code"), [("superseded", 5), ("revoked", 4), ("certificate", 6), ("revoked-hidden", 6)])
def test_without_the_log_only_a_status_in_the_bundle_is_known(name: str, code: int) -> None:
    assert verify_bundle(read(f"{name}.json"), trust=read("trust.json")).exit_code == code


KINDS = {"standard": 0, "transcript": 0, "disproved": 0, "superseding": 0, "superseded": 5}
ARTIFACTS = {"superseding": "standard", "superseded": "standard"}


def verified(name: str) -> Verification:
    """A certificate of each kind, with everything that a verifier can have."""
    trust, log = (KINDS_CORPUS / "trust.json").read_bytes(), (KINDS_CORPUS / "log.jsonl").read_bytes()
    artifacts = KINDS_CORPUS / "artifacts" / ARTIFACTS.get(name, name)
    return verify_bundle((KINDS_CORPUS / f"{name}.json").read_bytes(), trust=trust, log=log, artifacts=artifacts)


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_certificate_verifies_with_its_ledgers(name: str) -> None:
    found = verified(name)
    assert (found.exit_code, found.failed, found.unchecked) == (KINDS[name], (), ("history",)), found.steps


def test_they_are_of_the_kinds_that_they_are_named_after() -> None:
    said = {name: read_statement(parse_bundle((KINDS_CORPUS / f"{name}.json").read_bytes()).certificate.envelope.payload).predicate for name in KINDS}
    assert (said["transcript"].policy.name, said["transcript"].flags) == ("transcript", ("no-headroom",))
    assert said["disproved"].disproof is not None
    assert "disproved" in said["disproved"].flags
    assert said["superseding"].relations.supersedes == "certificate-superseded"
    assert all(one.registrations.attacked.of is not None for one in said.values())
    current = parse_trust((KINDS_CORPUS / "trust.json").read_bytes()).current
    signed = {name: parse_bundle((KINDS_CORPUS / f"{name}.json").read_bytes()).certificate.envelope.signatures[0][0] for name in KINDS}
    kinds = {name: current.keys[keyid].keytype for name, keyid in signed.items()}
    assert kinds == {"standard": "ed25519", "superseded": "ed25519", "transcript": "ecdsa", "disproved": "ecdsa", "superseding": "ecdsa"}


def test_every_certificate_of_the_corpus_is_tried() -> None:
    assert {path.stem for path in KINDS_CORPUS.glob("*.json")} - {"trust"} == set(KINDS)
    assert {path.stem for path in CORPUS.glob("*.json")} - {"trust"} == set(STANDING)
    assert json.loads(read("log.jsonl").splitlines()[-1]).keys() == {"checkpoint"}
