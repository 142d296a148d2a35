"""Files given in each other's place are told from files that were changed: the first is wrong usage, the second a failed step."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from random import Random

import pytest

import pairmark
from pairmark.domain.errors import Malformed
from pairmark.verify.kinds import SCHEMAS, Kind, kind_of, require_kind
from tests.cli.running import Here, is_one_line
from tests.verify.test_tampering import CHANGES, What, files

CORPUS = Path(__file__).parent / "corpus"
CERTIFICATE, TRUST, LOG = CORPUS / "certificate.json", CORPUS / "trust.json", CORPUS / "log.jsonl"
SUITE, RUN = CORPUS / "artifacts" / "suite.json", CORPUS / "artifacts" / "benign" / "run.json"
LEDGER = CORPUS / "artifacts" / "benign" / "episodes.jsonl"
UNSTORED = {"pairmark/episode/v1", "pairmark/plan-request/v1", "pairmark/problem/v1", "pairmark/quality/v1"}
"""Schemas of parts, requests and answers, which no file begins with."""


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)


def test_files_that_were_exchanged_are_wrong_usage(here: Here) -> None:
    done = here("verify", CERTIFICATE, "--trust", LOG, "--log", TRUST)
    assert (done.code, done.out, is_one_line(done.err)) == (2, "", True)
    assert f"--trust {LOG} is no trust root: this is an exported log" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((SUITE,), f"{SUITE} is no certificate bundle: this is a suite manifest (pairmark/suite/v1)"),
        ((RUN,), f"{RUN} is no certificate bundle: this is a run (pairmark/run/v1)"),
        ((LOG,), f"{LOG} is no certificate bundle: this is an exported log"),
        ((LEDGER,), f"{LEDGER} is no certificate bundle: this is a ledger of episodes"),
        ((CERTIFICATE, "--trust", CERTIFICATE), f"--trust {CERTIFICATE} is no trust root: this is a certificate bundle (pairmark/bundle/v1)"),
        ((CERTIFICATE, "--log", TRUST), f"--log {TRUST} is no exported log: this is a trust root (pairmark/trust-chain/v1)"),
        ((CERTIFICATE, "--log", CERTIFICATE), f"--log {CERTIFICATE} is no exported log: this is a certificate bundle"),
        ((CERTIFICATE, "--rows", LOG), f"--rows {LOG} is no proof of episodes: this is an exported log"),
        ((CERTIFICATE, "--state", TRUST), f"--state {TRUST} is no verifier state: this is a trust root"),
    ],
)
def test_a_file_of_another_kind_is_named_with_its_option(here: Here, words: tuple[str | Path, ...], said: str) -> None:
    done = here("verify", *words)
    assert (done.code, done.out, is_one_line(done.err)) == (2, "", True)
    assert said in done.err


def test_the_other_commands_that_take_such_files_say_the_same(here: Here, tmp_path: Path) -> None:
    proof = ("--run", RUN.parent, "--secret", LOG, "--cell", "x", "-o", tmp_path / "rows.json")
    assert "is no certificate bundle: this is a suite manifest" in here("prove", SUITE, *proof).err
    for words, said in (
        (("--trust", LOG, "--state", tmp_path / "s"), "is no trust root: this is an exported log"),
        (("--trust", TRUST, "--state", TRUST), "is no monitor state: this is a trust root"),
        (("--trust", tmp_path / "nowhere", "--state", tmp_path / "s"), "nowhere: expected a readable file"),
    ):
        done = here("log", "monitor", *words)
        assert (done.code, said in done.err, is_one_line(done.err)) == (2, True, True), done.err


def test_a_file_of_the_right_kind_that_is_damaged_fails_a_step(here: Here, tmp_path: Path) -> None:
    place = tmp_path / "changed"
    for words, data in (
        ((place,), CERTIFICATE.read_bytes()[:-1]),
        ((place,), b" " + CERTIFICATE.read_bytes()),
        ((place,), b""),
        ((CERTIFICATE, "--trust", place), TRUST.read_bytes()[:500]),
        ((CERTIFICATE, "--trust", TRUST, "--log", place), b"".join(LOG.read_bytes().splitlines(keepends=True)[1:])),
    ):
        place.write_bytes(data)
        done = here("verify", *words)
        assert (done.code, done.err, "INVALID" in done.out) == (1, "", True), words


@pytest.mark.parametrize(("what", "kind", "count"), [("bundle", "certificate bundle", 1500), ("trust", "trust root", 1000), ("log", "exported log", 1000)])
def test_no_change_makes_a_file_another_kind_of_document(what: What, kind: Kind, count: int) -> None:
    original: bytes = getattr(files(), what)
    assert kind_of(original) is not None
    for seed in range(count):
        random = Random(f"kind {what} {seed}")
        require_kind(random.choice(CHANGES[what])(random, original), kind, what)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b"x", mtime=0), "a gzip archive"), (b"<!DOCTYPE html>\n<html>", "a web page"), (b"-----BEGIN PRIVATE KEY-----\n", "a key or certificate in PEM"),
        (json.dumps({"payload": "", "payloadType": "", "signatures": []}).encode(), "a signed envelope"),
        (json.dumps({"schema": "pairmark/policy/v1"}, indent=1).encode(), "a policy (pairmark/policy/v1)"),
    ],
)  # fmt: skip
def test_what_is_no_document_of_pairmark_is_recognised_too(data: bytes, words: str) -> None:
    with pytest.raises(Malformed, match=re.escape(f"--trust t is no trust root: this is {words}")):
        require_kind(data, "trust root", "--trust t")


@pytest.mark.parametrize("data", [b"", b"x", b"[]", b"{}", b"null", b"[" * 100_000, b'{"schema":3}', b'{"schema":"pairmark/trust-chain/v2"}', b"\xff\xfe"])
def test_what_cannot_be_recognised_is_left_to_the_steps(data: bytes) -> None:
    assert kind_of(data) is None


def test_every_schema_that_a_file_can_name_has_words() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(pairmark.__file__).parent.rglob("*.py"))
    named = set(re.findall(r"""["'](pairmark/[a-z-]+/v1)["']""", source))
    assert named - UNSTORED == set(SCHEMAS)
