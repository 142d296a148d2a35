"""What each step catches, what it leaves to others, and what the whole then claims."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import pairmark
from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.errors import Malformed
from pairmark.domain.world import World
from pairmark.provenance import dsse, public_keys
from pairmark.provenance.bundle import Logged, bundle_bytes, parse_bundle
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.entries import Announcement, StatusChanged, TrustRooted
from pairmark.provenance.statement import read_statement
from pairmark.provenance.status_statement import status_bytes
from pairmark.provenance.svr import svr_bytes
from pairmark.verify import STEPS, Memory, Verification, verify_bundle
from pairmark.verify.memory import parse_memory
from tests.provenance.making import (
    AT,
    KEYS,
    Log,
    Pair,
    announce,
    bundle_at,
    chain_of,
    change,
    key_id,
    key_of,
    release,
    root_value,
    signed_by,
    small_pair,
    trusted,
)
from tests.verify.make_corpus import world_pair

CORPUS = Path(__file__).parent / "corpus"
TRUST = chain_of().content()
STRANGER = key_of(99)
DIGEST = "sha256:" + "a" * 64


@pytest.fixture(scope="module")
def pair() -> Pair:
    return small_pair()


@pytest.fixture
def log(pair: Pair) -> Log:
    log = Log()
    announce(log, pair)
    return log


def failed(found: Verification) -> list[str]:
    assert found.exit_code == 1
    assert found.memory is None
    return list(found.failed)


# --- what the whole claims ---------------------------------------------------------------------------------------------------


def test_nine_steps_in_order_whatever_comes_in() -> None:
    for data in (b"", b"{}", b"\xff" * 100, b"[" * 100_000, (CORPUS / "certificate.json").read_bytes()):
        found = verify_bundle(data, trust=b"nothing", log=b"nothing", rows=b"nothing")
        assert tuple(step.name for step in found.steps) == STEPS
        assert found.exit_code == 1


def test_without_a_trust_root_nothing_is_claimed(log: Log, pair: Pair) -> None:
    found = verify_bundle(bundle_at(log, release(log, pair, "c1")), log=log.export())
    assert (found.exit_code, found.summary[:7]) == (6, "UNKNOWN")
    assert {"signature", "inclusion", "status"} <= set(found.unchecked)


def test_with_the_log_it_is_valid_and_says_what_was_not_checked(log: Log, pair: Pair) -> None:
    found = verify_bundle(bundle_at(log, release(log, pair, "c1")), trust=TRUST, log=log.export())
    assert (found.exit_code, found.summary) == (0, "VALID; not checked: artifacts, numbers, policy, history")


# --- 2. signature ------------------------------------------------------------------------------------------------------------


def bundle_signed_by(log: Log, pair: Pair, key: Ed25519PrivateKey, svr: Ed25519PrivateKey | None = None) -> bytes:
    return bundle_at(log, release(log, pair, "c1", key), key=svr or key)


@pytest.mark.parametrize("key", [STRANGER, KEYS["revoker"], KEYS["log"], KEYS["root"]])
def test_only_a_certifier_certifies(log: Log, pair: Pair, key: Ed25519PrivateKey) -> None:
    assert failed(verify_bundle(bundle_signed_by(log, pair, key), trust=TRUST)) == ["signature"]


def test_the_svr_statement_is_signed_by_a_certifier_too(log: Log, pair: Pair) -> None:
    assert failed(verify_bundle(bundle_signed_by(log, pair, KEYS["certifier"], STRANGER), trust=TRUST)) == ["signature"]


def test_a_key_signs_for_its_own_part_of_the_log_only(log: Log, pair: Pair) -> None:
    index = len(log.entries)
    data = bundle_signed_by(log, pair, KEYS["certifier"])
    windows: list[tuple[int, int | None, bool]] = [(index, index + 1, True), (index + 1, None, False), (0, index, False)]
    for start, end, holds in windows:
        value = root_value()
        value["keys"][key_id(KEYS["certifier"])] = trusted(KEYS["certifier"], start, end)
        found = verify_bundle(data, trust=chain_of(value).content())
        assert (found.exit_code, found.outcome("signature")) == ((6, "PASS") if holds else (1, "FAIL"))
        assert holds or "key-window" in found.steps[1].message


def two_certifiers(threshold: int) -> dict[str, Any]:
    value = root_value()
    value["keys"][key_id(STRANGER)] = trusted(STRANGER)
    value["roles"]["certifier"] = {"threshold": threshold, "keyids": sorted([key_id(KEYS["certifier"]), key_id(STRANGER)])}
    return value


def with_signatures(log: Log, index: int, *keys: Ed25519PrivateKey, twice: bool = False) -> bytes:
    """The bundle with its certificate signed by these keys; the log names that very envelope."""
    entry, envelope = log.entries[index]
    payload = dsse.parse_envelope(envelope or b"").payload
    signed = dsse.sign(dsse.IN_TOTO, payload, [(public_bytes(key), key.sign) for key in keys])
    if twice:
        signed = dsse.Envelope(signed.payload_type, signed.payload, signed.signatures * 2)
    body = json.loads(entry)["body"]
    changed = entry.replace(body["envelope"].encode(), digest_of_bytes(signed.content()).encode())
    log.entries[index] = (changed, signed.content())
    svr = dsse.sign(dsse.IN_TOTO, svr_bytes(read_statement(payload)), [(public_bytes(key), key.sign) for key in keys])
    return bundle_bytes(log.logged(index), svr)


def test_a_threshold_of_two_needs_two_keys_and_one_key_twice_is_one(log: Log, pair: Pair) -> None:
    trust = chain_of(two_certifiers(2)).content()
    index = release(log, pair, "c1")
    assert failed(verify_bundle(with_signatures(log, index, KEYS["certifier"]), trust=trust)) == ["signature"]
    assert failed(verify_bundle(with_signatures(log, index, KEYS["certifier"], twice=True), trust=trust)) == ["signature"]
    assert verify_bundle(with_signatures(log, index, KEYS["certifier"], STRANGER), trust=trust).failed == ()


def test_another_root_than_the_pinned_one_is_refused(log: Log, pair: Pair) -> None:
    data = bundle_at(log, release(log, pair, "c1"))
    assert verify_bundle(data, trust=TRUST, root_digest=chain_of().root_digest).failed == ()
    assert failed(verify_bundle(data, trust=TRUST, root_digest=DIGEST)) == ["signature"]


def test_a_key_of_small_order_is_refused_in_a_trust_root(log: Log, pair: Pair) -> None:
    weak = bytes([1]) + bytes(31)
    value = root_value()
    value["keys"][public_keys.key_id(weak)] = {**trusted(STRANGER), "public": weak.hex()}
    envelope = dsse.sign(dsse.TRUST, canonical_bytes(value), [(public_bytes(KEYS["root"]), KEYS["root"].sign)])
    trust = canonical_bytes({"schema": "pairmark/trust-chain/v1", "roots": [envelope.value()]})
    assert failed(verify_bundle(bundle_at(log, release(log, pair, "c1")), trust=trust)) == ["signature"]


# --- 3. inclusion ------------------------------------------------------------------------------------------------------------


def test_a_checkpoint_of_another_origin_is_refused(log: Log, pair: Pair) -> None:
    log.origin = "fork.example/pairmark"
    assert failed(verify_bundle(bundle_at(log, release(log, pair, "c1")), trust=TRUST)) == ["inclusion"]


@pytest.mark.parametrize("key", [STRANGER, KEYS["certifier"]])
def test_a_checkpoint_that_the_log_did_not_sign_is_refused(log: Log, pair: Pair, key: Ed25519PrivateKey) -> None:
    log.key = key
    assert failed(verify_bundle(bundle_at(log, release(log, pair, "c1")), trust=TRUST)) == ["inclusion"]


def test_a_log_key_signs_trees_of_its_own_window_only(log: Log, pair: Pair) -> None:
    data = bundle_at(log, release(log, pair, "c1"))
    value = root_value()
    value["keys"][key_id(KEYS["log"])] = trusted(KEYS["log"], 0, len(log.entries) - 1)
    assert failed(verify_bundle(data, trust=chain_of(value).content())) == ["inclusion"]


def test_an_entry_of_another_certificate_does_not_show_inclusion(log: Log, pair: Pair) -> None:
    first, second = release(log, pair, "c1"), release(log, pair, "c2")
    one, two = log.logged(first), log.logged(second)
    svr = signed_by(KEYS["certifier"], svr_bytes(read_statement(one.envelope.payload)))
    found = verify_bundle(bundle_bytes(Logged(one.envelope, two.entry, two.receipt), svr), trust=TRUST)
    assert failed(found) == ["inclusion", "statement"]


def test_an_entry_of_another_kind_does_not_show_inclusion(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    one = log.logged(index)
    svr = signed_by(KEYS["certifier"], svr_bytes(read_statement(one.envelope.payload)))
    found = verify_bundle(bundle_bytes(Logged(one.envelope, log.entries[0][0], log.receipt(0)), svr), trust=TRUST)
    assert "inclusion" in failed(found)


def test_a_second_signature_under_a_checkpoint_is_refused(log: Log, pair: Pair) -> None:
    data = json.loads(bundle_at(log, release(log, pair, "c1")))
    line = data["receipt"].splitlines()[-1]
    data["receipt"] += line.replace("log.example", "other.example") + "\n"
    assert failed(verify_bundle(canonical_bytes(data), trust=TRUST)) == ["inclusion"]


# --- 4. statement ------------------------------------------------------------------------------------------------------------


def test_an_svr_statement_that_says_more_is_refused(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    value = json.loads(svr_bytes(read_statement(log.logged(index).envelope.payload)))
    value["predicate"]["properties"].append("PAIRMARK_RULE_EVERYTHING")
    data = bundle_bytes(log.logged(index), signed_by(KEYS["certifier"], canonical_bytes(value)))
    assert failed(verify_bundle(data, trust=TRUST)) == ["statement"]


def test_a_status_statement_signed_by_the_certifier_is_no_certificate(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    envelope = signed_by(KEYS["certifier"], status_bytes({"c1": DIGEST}, "revoked", "legal", at=AT))
    entry = log.entries[index][0].replace(json.loads(log.entries[index][0])["body"]["envelope"].encode(), digest_of_bytes(envelope.content()).encode())
    log.entries[index] = (entry, envelope.content())
    data = bundle_bytes(log.logged(index), signed_by(KEYS["certifier"], b"{}"))
    assert failed(verify_bundle(data, trust=TRUST)) == ["statement"]


def test_hidden_tries_are_found_in_the_log(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1", up_to=len(log.entries) - 1)
    data = bundle_at(log, index)
    assert verify_bundle(data, trust=TRUST).failed == ()
    assert failed(verify_bundle(data, trust=TRUST, log=log.export())) == ["statement"]


def test_registrations_cannot_be_counted_over_entries_to_come(log: Log, pair: Pair) -> None:
    assert failed(verify_bundle(bundle_at(log, release(log, pair, "c1", up_to=1000)), trust=TRUST)) == ["statement"]


# --- 8. status ---------------------------------------------------------------------------------------------------------------


def test_a_revocation_that_was_left_out_is_found_in_the_log(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    data = bundle_at(log, index)
    change(log, ["c1"])
    assert verify_bundle(data, trust=TRUST).exit_code == 6
    assert verify_bundle(data, trust=TRUST, log=log.export()).exit_code == 4


def test_a_superseded_certificate_that_was_revoked_is_revoked(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    release(log, pair, "c2")
    one, two = change(log, ["c1"], "superseded", by="c2"), change(log, ["c1"])
    data = bundle_at(log, index, [one, two])
    assert verify_bundle(data, trust=TRUST).exit_code == 4
    assert verify_bundle(bundle_at(log, index, [one]), trust=TRUST).exit_code == 5
    assert verify_bundle(bundle_at(log, index, [one]), trust=TRUST, log=log.export()).exit_code == 4


@pytest.mark.parametrize("key", [STRANGER, KEYS["certifier"], KEYS["root"]])
def test_only_a_revoker_revokes(log: Log, pair: Pair, key: Ed25519PrivateKey) -> None:
    index = release(log, pair, "c1")
    status = change(log, ["c1"], key=key)
    assert failed(verify_bundle(bundle_at(log, index, [status]), trust=TRUST)) == ["status"]
    assert failed(verify_bundle(bundle_at(log, index), trust=TRUST, log=log.export())) == ["status"]


def test_a_revocation_of_another_certificate_does_not_count(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    release(log, pair, "c2")
    status = change(log, ["c2"])
    assert failed(verify_bundle(bundle_at(log, index, [status]), trust=TRUST)) == ["status"]
    assert verify_bundle(bundle_at(log, index), trust=TRUST, log=log.export()).exit_code == 0


def test_a_status_entry_that_says_more_than_its_statement_is_refused(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    release(log, pair, "c2")
    change(log, ["c2"])
    entry, envelope = log.entries[-1]
    log.entries[-1] = (entry.replace(b'["c2"]', b'["c1","c2"]'), envelope)
    assert failed(verify_bundle(bundle_at(log, index), trust=TRUST, log=log.export())) == ["status"]


def test_one_operation_can_revoke_many(log: Log, pair: Pair) -> None:
    first, second = release(log, pair, "c1"), release(log, pair, "c2")
    status = change(log, ["c1", "c2"])
    for index in (first, second):
        assert verify_bundle(bundle_at(log, index, [status]), trust=TRUST).exit_code == 4


def test_a_log_that_ends_too_early_is_stale_not_a_clean_bill(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    early = log.export()
    log.add(Announcement(run="x", document=DIGEST, suite=DIGEST, system=DIGEST, arm="benign", after_the_fact=False, at=AT))
    found = verify_bundle(bundle_at(log, index), trust=TRUST, log=early)
    assert (found.exit_code, found.outcome("status")) == (6, "NOT_CHECKED")
    assert "stale" in found.steps[7].message


def test_a_trust_root_that_the_log_knows_to_be_old_is_stale(log: Log, pair: Pair) -> None:
    """A key that was revoked since would still be trusted."""
    data = bundle_at(log, release(log, pair, "c1"))
    newer = chain_of(root_value(), root_value(2))
    log.add(TrustRooted(version=2, envelope=digest_of_bytes(newer.envelopes[1].content()), at=AT), newer.envelopes[1])
    found = verify_bundle(data, trust=TRUST, log=log.export())
    assert (found.exit_code, found.outcome("status")) == (6, "NOT_CHECKED")
    assert verify_bundle(data, trust=newer.content(), log=log.export()).exit_code == 0
    fork = root_value(2)
    fork["keys"][key_id(STRANGER)] = trusted(STRANGER)
    assert failed(verify_bundle(data, trust=chain_of(root_value(), fork).content(), log=log.export())) == ["status"]


def test_a_log_without_the_certificate_in_its_place_is_refused(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    data = bundle_at(log, index)
    entry, envelope = log.entries[index]
    log.entries[index] = (entry.replace(b'"c1"', b'"c9"'), envelope)
    log.add(StatusChanged(certificates=("c9",), status="revoked", reason="legal", by=None, envelope=DIGEST, at=AT))
    log.entries[-1] = log.entries[0]
    assert failed(verify_bundle(data, trust=TRUST, log=log.export())) == ["status", "history"]


# --- 9. history --------------------------------------------------------------------------------------------------------------


def seen(data: bytes, **given: Any) -> Memory:
    found = verify_bundle(data, trust=TRUST, **given)
    assert found.memory is not None
    return parse_memory(found.memory.content())


def test_a_log_that_grew_continues_what_was_seen(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    data = bundle_at(log, index)
    memory = seen(data, log=log.export())
    assert verify_bundle(data, trust=TRUST, remembered=memory).outcome("history") == "PASS"
    release(log, pair, "c2")
    found = verify_bundle(data, trust=TRUST, log=log.export(), remembered=memory)
    assert (found.exit_code, found.outcome("history")) == (0, "PASS")
    assert found.memory is not None
    assert found.memory.logs[log.origin].size == len(log.entries)
    without = verify_bundle(bundle_at(log, index), trust=TRUST, remembered=memory)
    assert without.outcome("history") == "NOT_CHECKED"


def test_all_nine_steps_can_pass() -> None:
    data, trust, log = ((CORPUS / name).read_bytes() for name in ("certificate.json", "trust.json", "log.jsonl"))
    memory = verify_bundle(data, trust=trust, log=log).memory
    found = verify_bundle(data, trust=trust, log=log, artifacts=CORPUS / "artifacts", remembered=memory)
    assert (found.exit_code, found.summary) == (0, "VALID in all nine steps")


def test_another_past_is_a_fork(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    memory = seen(bundle_at(log, index), log=log.export())
    fork = Log()
    announce(fork, pair)
    other = release(fork, pair, "c1-other")
    for later in ("c2", "c3"):
        found = verify_bundle(bundle_at(fork, other), trust=TRUST, log=fork.export(), remembered=memory)
        assert failed(found) == ["history"]
        release(fork, pair, later)


def test_a_receipt_from_another_past_than_the_log_is_a_fork(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    log.add(Announcement(run="x", document=DIGEST, suite=DIGEST, system=DIGEST, arm="benign", after_the_fact=False, at=AT))
    data = bundle_at(log, index)
    entry, _ = log.entries[-1]
    log.entries[-1] = (entry.replace(b'"x"', b'"y"'), None)
    assert failed(verify_bundle(data, trust=TRUST, log=log.export())) == ["history"]


def test_a_log_older_than_what_was_seen_says_nothing_about_now(log: Log, pair: Pair) -> None:
    index = release(log, pair, "c1")
    early, data = log.export(), bundle_at(log, index)
    release(log, pair, "c2")
    memory = seen(data, log=log.export())
    found = verify_bundle(data, trust=TRUST, log=early, remembered=memory)
    assert (found.exit_code, found.outcome("status"), found.outcome("history")) == (6, "NOT_CHECKED", "NOT_CHECKED")


def test_a_rolled_back_or_forked_trust_root_is_refused(log: Log, pair: Pair) -> None:
    data = bundle_at(log, release(log, pair, "c1"))
    newer = chain_of(root_value(), root_value(2)).content()
    memory = verify_bundle(data, trust=newer).memory
    assert failed(verify_bundle(data, trust=TRUST, remembered=memory)) == ["history"]
    fork = root_value(2)
    fork["keys"][key_id(STRANGER)] = trusted(STRANGER)
    assert failed(verify_bundle(data, trust=chain_of(root_value(), fork).content(), remembered=memory)) == ["history"]
    other = root_value()
    other["keys"][key_id(STRANGER)] = trusted(STRANGER)
    assert failed(verify_bundle(data, trust=chain_of(other, {**other, "version": 2}).content(), remembered=memory)) == ["history"]


# --- 5 to 7. what is computed again -----------------------------------------------------------------------------------------


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    shutil.copytree(CORPUS / "artifacts", tmp_path / "artifacts")
    return tmp_path / "artifacts"


def verify_with(artifacts: Path) -> Verification:
    data, trust = ((CORPUS / name).read_bytes() for name in ("certificate.json", "trust.json"))
    return verify_bundle(data, trust=trust, artifacts=artifacts)


@pytest.mark.parametrize("missing", ["suite.json", "benign", "attacked/run.json", "baseline"])
def test_a_missing_artifact_fails(artifacts: Path, missing: str) -> None:
    path = artifacts / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert failed(verify_with(artifacts)) == ["artifacts"]


def test_the_probe_of_the_manifest_is_covered_too(artifacts: Path) -> None:
    value = json.loads((artifacts / "suite.json").read_bytes())
    value["description"] = "another description, outside the suite's digest"
    (artifacts / "suite.json").write_bytes(canonical_bytes(value))
    assert failed(verify_with(artifacts)) == ["artifacts"]


def test_a_policy_that_is_not_the_one_certified_under_fails(artifacts: Path) -> None:
    from pairmark.resources import data_folder

    value = json.loads((data_folder("manifests") / "policies" / "standard-1.json").read_bytes())
    value["rules"] = value["rules"][:-1]
    (artifacts / "policy.json").write_bytes(canonical_bytes(value))
    assert failed(verify_with(artifacts)) == ["numbers"]


def test_another_report_beside_the_artifacts_fails() -> None:
    """Everything is signed and logged as it should be; only the arithmetic is not true."""
    statement = read_statement(parse_bundle((CORPUS / "certificate.json").read_bytes()).certificate.envelope.payload)
    runs: dict[Any, Any] = {role: json.loads((CORPUS / f"artifacts/{role}/run.json").read_bytes()) for role in ("benign", "attacked", "baseline")}
    report = json.loads(statement.report)
    report["metrics"]["benign_utility"] |= {"value": "0.990000", "fraction": "99/100"}
    manifest = json.loads((CORPUS / "artifacts/suite.json").read_bytes())
    lie = Pair(manifest, report, runs)
    log = Log()
    announce(log, lie)
    found = verify_bundle(bundle_at(log, release(log, lie, "c1")), trust=TRUST, log=log.export(), artifacts=None)
    assert found.exit_code == 0
    with_files = CORPUS / "artifacts"
    again = verify_bundle(bundle_at(log, len(log.entries) - 1), trust=TRUST, log=log.export(), artifacts=with_files)
    assert failed(again) == ["artifacts"], "report.json beside them is another report"


def test_numbers_and_findings_are_compared_with_what_is_computed(tmp_path: Path) -> None:
    """Everything is signed and logged as it should be; only what is said may not be true."""
    world = World()
    for name, content in world.files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    true = world_pair(world)
    number, finding, wording = (copy.deepcopy(true.report) for _ in range(3))
    number["metrics"]["benign_utility"]["value"] = "0.990000"
    next(item for item in finding["findings"] if item["outcome"] == "passed")["outcome"] = "not_applicable"
    wording["findings"][0]["message"] += " or so"
    for report, version, expected in (
        (true.report, pairmark.__version__, []), (number, "0.0.1", ["numbers"]), (finding, "0.0.1", ["policy"]),
        (wording, pairmark.__version__, ["policy"]), (wording, "0.0.1", []),
    ):  # fmt: skip
        pair = Pair(true.manifest, report, true.runs)
        log = Log()
        announce(log, pair)
        found = verify_bundle(bundle_at(log, release(log, pair, "c1", version=version)), trust=TRUST, artifacts=tmp_path)
        assert list(found.failed) == expected, found.steps


# --- and what it does not load -----------------------------------------------------------------------------------------------


def test_verifying_loads_no_service_and_no_tables() -> None:
    program = (
        "import sys; from pathlib import Path; from pairmark.verify import verify_bundle; c = Path(sys.argv[1]);"
        "r = lambda n: (c / n).read_bytes();"
        "assert verify_bundle(r('certificate.json'), trust=r('trust.json'), log=r('log.jsonl')).exit_code == 0;"
        "names = %r; print([n for n in names if n in sys.modules])"
    )
    light = ("fastapi", "starlette", "sqlalchemy", "sqlmodel", "httpx", "polars", "numpy", "pandas", "great_expectations", "typer", "rich")
    done = subprocess.run([sys.executable, "-c", program % (light,), str(CORPUS)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_verifying_artifacts_still_loads_no_service() -> None:
    """SQLAlchemy may come in with the library that judges data quality; no database of ours does."""
    program = (
        "import sys; from pathlib import Path; from pairmark.verify import verify_bundle; c = Path(sys.argv[1]);"
        "verify_bundle((c / 'certificate.json').read_bytes(), artifacts=c / 'artifacts');"
        "print([n for n in ('fastapi', 'starlette', 'sqlmodel', 'httpx', 'uvicorn', 'pairmark.adapters.sql', 'pairmark.http') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(CORPUS)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_state_file_that_is_none_is_refused() -> None:
    for data in (b"", b"{}", b'{"schema":"pairmark/verifier-state/v1","logs":{"a":1}}'):
        with pytest.raises(Malformed):
            parse_memory(data)
