"""The frozen corpus: what was released once must verify for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.verify import verify_bundle

CORPUS = Path(__file__).parent / "corpus"
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


def test_every_certificate_of_the_corpus_is_tried() -> None:
    assert {path.stem for path in CORPUS.glob("*.json")} - {"trust"} == set(STANDING)
    assert json.loads(read("log.jsonl").splitlines()[-1]).keys() == {"checkpoint"}
