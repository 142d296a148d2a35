"""Nothing that was changed is accepted, nothing crashes, and each change is caught by a named step: whichever kind of keys signed.

`make test` tries a sample of two thousand; the slow test tries more than a hundred thousand.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from pairmark.domain.errors import Malformed
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.statement import read_statement
from pairmark.provenance.trust import ROLES, RoleName, verify_chain
from pairmark.verify import STEPS, verify_bundle
from tests.provenance.making import (
    KEYS,
    Log,
    SigningKey,
    announce,
    bundle_at,
    change,
    key_id,
    p256_key_of,
    release,
    root_value,
    signed_root,
    small_pair,
    trusted,
)
from tests.verify.tampering import BYTES, Change, lines_of, payload_of, signature_of, structure, text_of

CORPUS = Path(__file__).parent / "corpus"
What = Literal["bundle", "trust", "log"]
Kind = Literal["ed25519", "p256"]


@dataclass(frozen=True)
class Files:
    bundle: bytes
    trust: bytes
    log: bytes


KINDS: dict[Kind, dict[RoleName, SigningKey]] = {
    "ed25519": {role: KEYS[role] for role in ROLES},
    "p256": {**{role: p256_key_of(number) for number, role in enumerate(ROLES, 1)}, "log": KEYS["log"]},
}
"""Keys by role, as files have them and as hardware modules have them; the log's key is Ed25519 in both."""


def root_of(kind: Kind, version: int = 1) -> dict[str, Any]:
    """A trust root with one key of a kind for each role."""
    keys = KINDS[kind]
    return root_value(
        version,
        keys={key_id(key): trusted(key) for key in keys.values()},
        roles={role: {"threshold": 1, "keyids": [key_id(keys[role])]} for role in ROLES},
    )


@cache
def first_root(kind: Kind) -> bytes:
    """A trust root that ends a version earlier is a trust root: only who saw the later one can know."""
    return verify_chain((signed_root(root_of(kind), KINDS[kind]["root"]),)).content()


@cache
def files(kind: Kind = "ed25519") -> Files:
    """A superseded certificate with its status beside it, on a log with some more."""
    log, pair, keys = Log(), small_pair(), KINDS[kind]
    announce(log, pair)
    first = release(log, pair, "c1", keys["certifier"])
    release(log, pair, "c2", keys["certifier"])
    status = change(log, ["c1"], "superseded", by="c2", key=keys["revoker"])
    chain = verify_chain(tuple(signed_root(root_of(kind, version), keys["root"]) for version in (1, 2)))
    return Files(bundle_at(log, first, [status], key=keys["certifier"]), chain.content(), log.export())


CHANGES: dict[What, tuple[Change, ...]] = {
    "bundle": (
        *BYTES, structure, payload_of("envelope"), payload_of("svr"), payload_of("statuses", 0, "envelope"), text_of("receipt"),
        text_of("statuses", 0, "receipt"), signature_of("envelope"), signature_of("svr"), signature_of("statuses", 0, "envelope"),
    ),
    "trust": (*BYTES, structure, payload_of("roots", 0), payload_of("roots", 1), signature_of("roots", 0), signature_of("roots", 1)),
    "log": (*BYTES, lines_of),
}  # fmt: skip


def try_changes(what: What, seeds: range) -> Counter[str]:
    """Change one file after another, every other time one that keys of the other kind signed; returns how often each step failed."""
    caught: Counter[str] = Counter()
    for seed in seeds:
        random = Random(f"{what} {seed}")
        kind: Kind = "p256" if seed % 2 else "ed25519"
        whole = files(kind)
        original: bytes = getattr(whole, what)
        data = random.choice(CHANGES[what])(random, original)
        if data == original:
            continue
        given = {"bundle": whole.bundle, "trust": whole.trust, "log": whole.log, what: data}
        found = verify_bundle(given["bundle"], trust=given["trust"], log=given["log"] if what == "log" or seed % 31 == 0 else None)
        assert found.failed or _status_taken_out(whole.bundle, given["bundle"]) or given["trust"] == first_root(kind), (what, seed, found)
        caught.update(found.failed[:1])
    return caught


def _status_taken_out(before: bytes, after: bytes) -> bool:
    """A bundle without its status change is a bundle; it does not say `valid`, and the log says what happened."""
    if before == after:
        return False
    found = parse_bundle(after)
    return found.statuses == () and found.certificate == parse_bundle(before).certificate and verify_bundle(after).exit_code == 6


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_changed_is_accepted(kind: Kind) -> None:
    whole = files(kind)
    assert verify_bundle(whole.bundle, trust=whole.trust).exit_code == 5
    assert verify_bundle(whole.bundle, trust=whole.trust, log=whole.log).failed == ()


@pytest.mark.parametrize(("what", "count"), [("bundle", 1200), ("trust", 500), ("log", 300)])
def test_a_sample_of_changes_is_caught(what: What, count: int) -> None:
    caught = try_changes(what, range(count))
    assert sum(caught.values()) > 0.9 * count
    assert set(caught) >= {"bundle": {"shape", "signature", "inclusion", "statement", "status"}, "trust": {"signature"}, "log": {"status"}}[what] - (
        {"statement"} if what == "bundle" else set()
    )
    assert set(caught) <= set(STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(20))
def test_a_hundred_thousand_changes_are_caught(shard: int) -> None:
    counted = Counter[str]()
    for what, size in (("bundle", 3500), ("trust", 1000), ("log", 700)):
        counted.update(try_changes(what, range(10_000 + shard * size, 10_000 + (shard + 1) * size)))  # type: ignore[arg-type]  # a literal
    assert sum(counted.values()) > 5000


ARTIFACTS = sorted(path.relative_to(CORPUS / "artifacts").as_posix() for path in (CORPUS / "artifacts").rglob("*.json*"))


def try_artifact(name: str, seeds: range, tmp_path: Path) -> int:
    """Change one artifact after another; returns how many changes were caught where the artifacts are read."""
    from pairmark.verify.material import read_experiment

    statement = read_statement(parse_bundle((CORPUS / "certificate.json").read_bytes()).certificate.envelope.payload)
    folder = tmp_path / "artifacts"
    for path in (CORPUS / "artifacts").rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(CORPUS / "artifacts")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    original = (folder / name).read_bytes()
    caught = 0
    for seed in seeds:
        random = Random(f"{name} {seed}")
        data = random.choice([*BYTES[:4], structure] if name.endswith(".json") else BYTES[:4])(random, original)
        (folder / name).write_bytes(data)
        try:
            read_experiment(folder, statement.predicate)
        except Malformed:
            caught += 1
        else:
            assert _same_document(original, data), (name, seed)
    return caught


def _same_document(before: bytes, after: bytes) -> bool:
    """White space between the parts of a document is not part of it; in a line of a ledger a missing key is null, and a missing attempt is 1."""
    import json

    def read(data: bytes) -> list[dict[str, object]]:
        lines = [json.loads(line) for line in _documents(data)]
        return [{"attempt": 1, **{key: value for key, value in line.items() if value is not None}} if "task_id" in line else line for line in lines]

    return read(before) == read(after)


def _documents(data: bytes) -> list[bytes]:
    import json

    try:
        json.loads(data)
    except ValueError:
        return [line for line in data.split(b"\n") if line.strip()]
    return [data]


@pytest.mark.parametrize("name", ARTIFACTS)
def test_changed_artifacts_are_caught(name: str, tmp_path: Path) -> None:
    assert try_artifact(name, range(25), tmp_path) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ARTIFACTS)
def test_many_changed_artifacts_are_caught(name: str, tmp_path: Path) -> None:
    assert try_artifact(name, range(1000, 1400), tmp_path) >= 320
