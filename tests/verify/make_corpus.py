"""Writes `tests/verify/corpus*/`: certificates, frozen once released. Run it for a new corpus only, never over an old one.

    python -m tests.verify.make_corpus FOLDER [standing|kinds]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairmark.adapters.ledgers.canonical_out import canonical_lines
from pairmark.adapters.ledgers.documents import read_policy
from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.app.check import check
from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes, suite_digest
from pairmark.domain.world import World
from pairmark.provenance.dsse import Envelope
from pairmark.provenance.entries import Announcement, Disproved, TrustRooted
from pairmark.provenance.registrations import SystemNames
from pairmark.provenance.rows import row_leaves, rows_root
from pairmark.provenance.statement import ARM_ROLES, ArmRole
from pairmark.provenance.trust import RoleName, verify_chain
from pairmark.rules.base import Disproof
from tests.provenance.making import (
    AT,
    KEYS,
    Log,
    Pair,
    announce,
    bundle_at,
    change,
    key_id,
    key_of,
    p256_key_of,
    release,
    root_value,
    signed_root,
    trusted,
)

CERTIFIER, LOG = key_of(11), key_of(12)
SECRET = bytes(range(32))


def world_pair(world: World, policy_name: str = "standard/1", disproof: Mapping[str, Any] | None = None) -> Pair:
    """A world as a service has it, judged by a policy."""
    policy = read_policy(policy_name)
    experiment = world.experiment()
    answer = None if disproof is None else Disproof(disproof["text"], tuple(disproof["digests"]))
    report = check(experiment, policy.policy, policy.digest, great_expectations_gate(), answer).value
    files = world.files()
    runs: dict[ArmRole, dict[str, Any]] = {}
    rows: dict[ArmRole, str] = {}
    for role in ARM_ROLES:
        runs[role] = json.loads(files[f"{role}/run.json"])
        arm = experiment.benign if role == "benign" else experiment.attacked if role == "attacked" else experiment.given_baseline
        assert arm is not None
        rows[role] = rows_root(row_leaves(SECRET, canonical_lines(arm.ledger).splitlines(keepends=True)))
    return Pair(json.loads(files["suite.json"]), report, runs, rows)


def _log_root(log: Log, version: int, envelope: Envelope) -> None:
    log.add(TrustRooted(version=version, envelope=digest_of_bytes(envelope.content()), at=AT), envelope)


def files_of(pair: Pair) -> dict[str, bytes]:
    """One log with a rotation of certifier and log key in it, and a certificate of each standing."""
    first = signed_root(root_value())
    log = Log()
    _log_root(log, 1, first)
    announce(log, pair)
    revoked = release(log, pair, "certificate-revoked")
    superseded = release(log, pair, "certificate-superseded")
    old_key = bundle_at(log, release(log, pair, "certificate-old-key"))
    at = len(log.entries)
    second = root_value(2)
    renewed: dict[RoleName, Ed25519PrivateKey] = {"certifier": CERTIFIER, "log": LOG}
    for role, new in renewed.items():
        old = key_id(KEYS[role])
        second["keys"][old]["valid_until"] = at
        second["keys"][key_id(new)] = trusted(new, at)
        second["roles"][role]["keyids"] = [old, key_id(new)]
    chain = verify_chain((first, signed_root(second)))
    _log_root(log, 2, chain.envelopes[1])
    log.key = LOG
    valid = release(log, pair, "certificate-valid", CERTIFIER, supersedes="certificate-superseded")
    changes = change(log, ["certificate-superseded"], "superseded", by="certificate-valid"), change(log, ["certificate-revoked"])
    return {
        "trust.json": chain.content(),
        "log.jsonl": log.export(),
        "certificate.json": bundle_at(log, valid, key=CERTIFIER),
        "old-key.json": old_key,
        "superseded.json": bundle_at(log, superseded, [changes[0]]),
        "revoked.json": bundle_at(log, revoked, [changes[1]]),
        "revoked-hidden.json": bundle_at(log, revoked),
    }


SMALL = World.of(tasks=6, injections=4, groups=2)
QUIET = (
    SMALL.set("baseline", attacker_actions=0, attack_success=False).set("all", 1, duration_ms=101).edit_suite("/description", "A quiet baseline.")
)
UNHARMED = SMALL.set("attacked", utility=True).set("all", 1, duration_ms=102).edit_suite("/description", "An attack that does no harm.")
EVIDENCE = {"text": "The harness was replayed by hand: injections arrived, and the tasks were done.", "digests": [digest_of_bytes(b"notes")]}
HARDWARE: dict[RoleName, EllipticCurvePrivateKey] = {"root": p256_key_of(21), "certifier": p256_key_of(22), "revoker": p256_key_of(23)}


def kinds_of_certificates() -> dict[str, bytes]:
    """One log whose keys moved into hardware, with a certificate of each kind and what it is over."""
    pairs = {
        "standard": world_pair(SMALL), "transcript": world_pair(QUIET, "transcript/1"), "disproved": world_pair(UNHARMED, disproof=EVIDENCE),
    }  # fmt: skip
    first = signed_root(root_value())
    log = Log()
    _log_root(log, 1, first)
    nameless = SystemNames(requested=None, provider=None, defenses=None).key()
    suite = suite_digest(pairs["standard"].manifest)
    log.add(Announcement(run="run-of-something", document=suite, suite=suite, system=nameless, arm="attacked", after_the_fact=False, at=AT))
    for name, pair in pairs.items():
        announce(log, pair, name)
    files = {"standard.json": bundle_at(log, release(log, pairs["standard"], "certificate-standard", runs="standard"))}
    superseded = release(log, pairs["standard"], "certificate-superseded", runs="standard")
    at, second = len(log.entries), root_value(2)
    for role, key in HARDWARE.items():
        old = key_id(KEYS[role])
        second["keys"][old]["valid_until"] = at
        second["keys"][key_id(key)] = trusted(key, at)
        second["roles"][role]["keyids"] = [key_id(key)] if role == "root" else [old, key_id(key)]
    chain = verify_chain((first, signed_root(second, KEYS["root"], HARDWARE["root"])))
    _log_root(log, 2, chain.envelopes[1])
    certifier = HARDWARE["certifier"]
    log.add(Disproved(certification="certification-held", evidence=digest_of(EVIDENCE), at=AT))
    made = {
        "transcript": release(log, pairs["transcript"], "certificate-transcript", certifier, runs="transcript"),
        "disproved": release(log, pairs["disproved"], "certificate-disproved", certifier, runs="disproved", disproof=("certification-held", EVIDENCE)),
        "superseding": release(log, pairs["standard"], "certificate-superseding", certifier, runs="standard", supersedes="certificate-superseded"),
    }
    status = change(log, ["certificate-superseded"], "superseded", by="certificate-superseding", key=HARDWARE["revoker"])
    files["superseded.json"] = bundle_at(log, superseded, [status])
    files |= {f"{name}.json": bundle_at(log, index, key=certifier) for name, index in made.items()}
    for name, world in (("standard", SMALL), ("transcript", QUIET), ("disproved", UNHARMED)):
        files |= {f"artifacts/{name}/{file}": content for file, content in world.files().items()}
        files[f"artifacts/{name}/report.json"] = canonical_bytes(pairs[name].report)
    return {"trust.json": chain.content(), "log.jsonl": log.export(), **files}


def main(folder: Path, which: str = "standing") -> None:
    """Write a corpus into a new folder."""
    world = World()
    folder.mkdir(parents=True)
    if which == "kinds":
        files = kinds_of_certificates()
    else:
        files = {**files_of(world_pair(world)), **{f"artifacts/{name}": content for name, content in world.files().items()}}
        files["artifacts/report.json"] = canonical_bytes(world_pair(world).report)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
