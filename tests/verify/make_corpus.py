"""Writes `tests/verify/corpus/`: certificates, frozen once released. Run it for a new corpus only, never over an old one.

    python -m tests.verify.make_corpus FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairmark.adapters.ledgers.canonical_out import canonical_lines
from pairmark.adapters.ledgers.documents import read_policy
from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.app.check import check
from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.world import World
from pairmark.provenance.dsse import Envelope
from pairmark.provenance.entries import TrustRooted
from pairmark.provenance.rows import row_leaves, rows_root
from pairmark.provenance.statement import ARM_ROLES, ArmRole
from pairmark.provenance.trust import RoleName, verify_chain
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
    release,
    root_value,
    signed_root,
    trusted,
)

CERTIFIER, LOG = key_of(11), key_of(12)
SECRET = bytes(range(32))


def world_pair(world: World) -> Pair:
    """A world as a service has it, judged by `standard/1`."""
    policy = read_policy("standard/1")
    experiment = world.experiment()
    report = check(experiment, policy.policy, policy.digest, great_expectations_gate()).value
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


def main(folder: Path) -> None:
    """Write the corpus into a new folder."""
    world = World()
    folder.mkdir(parents=True)
    for name, content in {**files_of(world_pair(world)), **{f"artifacts/{name}": content for name, content in world.files().items()}}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "artifacts" / "report.json").write_bytes(canonical_bytes(world_pair(world).report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
