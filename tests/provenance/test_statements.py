"""Certificates, status statements, the SVR beside them, and the bundle that holds all of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.errors import Malformed
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.entries import Announcement, entry_bytes
from pairmark.provenance.log_export import replay
from pairmark.provenance.registrations import system_key
from pairmark.provenance.statement import read_statement
from pairmark.provenance.status_statement import read_status, status_bytes
from pairmark.provenance.svr import svr_bytes
from tests.provenance.making import AT, Log, Pair, announce, bundle_at, change, payload_of, release, small_pair

DIGEST = "sha256:" + "a" * 64


@pytest.fixture(scope="module")
def pair() -> Pair:
    return small_pair()


@pytest.fixture
def log(pair: Pair) -> Log:
    log = Log()
    announce(log, pair)
    return log


def test_a_certificate_writes_its_report_again_byte_for_byte(log: Log, pair: Pair) -> None:
    assert read_statement(payload_of(log, pair, "c1")).report == canonical_bytes(pair.report)


def test_its_subjects_are_the_whole_manifest_and_each_arm(log: Log, pair: Pair) -> None:
    subjects = {item.name: item.digest.sha256 for item in read_statement(payload_of(log, pair, "c1")).document.subject}
    assert subjects["suite/manifest.json"] == digest_of(pair.manifest).removeprefix("sha256:")
    assert list(subjects)[1:] == [f"{role}/{file}" for role in ("benign", "attacked", "baseline") for file in ("run.json", "episodes.jsonl")]


def test_announced_runs_that_never_finished_are_counted(log: Log, pair: Pair) -> None:
    registrations = read_statement(payload_of(log, pair, "c1")).predicate.registrations
    assert (registrations.attacked.announced, registrations.attacked.unfinished) == (2, 1)
    assert (registrations.benign.announced, registrations.benign.unfinished) == (1, 0)
    assert registrations.up_to == len(log.entries)


def test_a_run_with_another_prompt_is_still_a_try_of_the_same_system(pair: Pair) -> None:
    run = copy.deepcopy(pair.runs["attacked"])
    run["system"]["system_prompt_digest"] = DIGEST
    assert system_key(run) == system_key(pair.runs["attacked"]) != system_key(pair.runs["baseline"])


def test_a_report_that_is_not_certified_cannot_be_stated(log: Log, pair: Pair) -> None:
    held = {**pair.report, "verdict": "quarantined", "metrics": None}
    with pytest.raises(Malformed, match="not-certified"):
        payload_of(log, Pair(pair.manifest, held, pair.runs), "c1")


def edited(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def edit(value: dict[str, Any]) -> None:
        at: Any = value
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = to

    return edit


CONTRADICTIONS = {
    "a subject left out": lambda value: value["subject"].pop(),
    "another subject": edited("subject", 1, "name", to="benign/run2.json"),
    "another ledger": edited("predicate", "arms", "benign", "ledger", "digest", to=DIGEST),
    "another number": edited("predicate", "metrics", "benign_utility", "value", to="0.937501"),
    "a failed finding": edited("predicate", "policy", "findings", 0, "outcome", to="failed"),
    "a flag less": edited("predicate", "flags", to=[]),
    "a fraction": edited("predicate", "registrations", "upTo", to=1.5),
    "a key more": edited("predicate", "stars", to=5),
    "another pairing": edited("predicate", "pairing", "pairs", to=4),
    "no non-claims": edited("predicate", "nonClaims", to=[]),
    "registrations of an arm that is not there": edited("predicate", "registrations", "baseline", to=None),
    "another type": edited("predicateType", to="urn:pairmark:status:v1"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_contradicts_itself_is_refused(log: Log, pair: Pair, name: str) -> None:
    value = json.loads(payload_of(log, pair, "c1"))
    CONTRADICTIONS[name](value)
    with pytest.raises(Malformed):
        read_statement(canonical_bytes(value))


def test_a_certificate_shows_the_disproof_it_rests_on(log: Log, pair: Pair) -> None:
    record = {"text": "seen by two reviewers", "digests": [DIGEST]}
    found = read_statement(payload_of(log, pair, "c1", disproof=("certification-0", record))).predicate.disproof
    assert found is not None
    assert (found.certification, found.record.text) == ("certification-0", record["text"])


def test_the_svr_names_what_passed(log: Log, pair: Pair) -> None:
    value = json.loads(svr_bytes(read_statement(payload_of(log, pair, "c1"))))
    assert value["predicate"]["properties"] == ["PAIRMARK_CERTIFIED", "PAIRMARK_POLICY_STANDARD_1", "PAIRMARK_RULE_CELLS_COMPLETE"]


def test_a_bundle_is_read_back_as_written(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    status = change(log, ["c1"])
    content = bundle_at(log, index, [status])
    assert parse_bundle(content).content() == content


@pytest.mark.parametrize(
    ("status", "by"), [("revoked", "c2"), ("superseded", None), ("superseded", "c1")]
)
def test_a_status_statement_says_what_stands_in_place_of_the_superseded_only(status: Any, by: str | None) -> None:
    with pytest.raises(Malformed, match="contradiction"):
        status_bytes({"c1": DIGEST}, status, "duplicate", at=AT, by=by)


def test_a_status_statement_is_read_back() -> None:
    found = read_status(status_bytes({"c2": DIGEST, "c1": DIGEST}, "superseded", "duplicate", at=AT, by="c3", note="twice"))
    assert found.predicate.certificates == ("c1", "c2")
    assert found.envelopes == {"c1": DIGEST, "c2": DIGEST}


def test_an_exported_log_is_replayed_to_the_same_root(log: Log, pair: Pair) -> None:
    release(log, pair, "c1")
    found = replay(log.export())
    assert list(found.leaves) == log.leaves
    assert found.checkpoint == log.checkpoint()


def test_an_export_that_was_touched_is_refused(log: Log, pair: Pair) -> None:
    release(log, pair, "c1")
    whole = log.export()
    lines = whole.splitlines(keepends=True)
    other = entry_bytes(Announcement(run="x", document=DIGEST, suite=DIGEST, system=DIGEST, arm="benign", after_the_fact=False, at=AT))
    for data in (
        b"", whole[:-1], b"".join(lines[:-1]), b"".join(lines[1:]), b"".join([lines[1], lines[0], *lines[2:]]),
        whole.replace(b'"index":0', b'"index":00'), b'{"entry":%s,"envelope":"AAAA","index":0}\n' % other + b"".join(lines[1:]),
    ):
        with pytest.raises(Malformed):
            replay(data)
