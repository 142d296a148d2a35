"""A small log with keys of its own, made from seeds: certificates, status changes and bundles as a service would hand out."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey, derive_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from pairmark.adapters.keys import Signer
from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes, suite_digest
from pairmark.provenance import dsse, p256, public_keys
from pairmark.provenance.bundle import Logged, bundle_bytes
from pairmark.provenance.checkpoint import Checkpoint, Receipt
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.entries import Announcement, Body, Released, Sealed, StatusChanged, entry_bytes
from pairmark.provenance.log_export import export_lines
from pairmark.provenance.merkle import inclusion_proof, leaf_hash, reader_of, root
from pairmark.provenance.note import NoteKey
from pairmark.provenance.registrations import count_registered, names_of, registered, system_key
from pairmark.provenance.statement import ARM_ROLES, ArmClaim, ArmRole, certificate_bytes, read_statement
from pairmark.provenance.svr import svr_bytes
from pairmark.provenance.trust import ROLES, TrustChain, verify_chain

REPOSITORY = Path(__file__).parents[2]
ORIGIN = "log.example/pairmark"
AT = "2026-01-22T07:00:00Z"


def key_of(seed: int) -> Ed25519PrivateKey:
    """A key that everybody knows: for tests only."""
    return Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)


def p256_key_of(seed: int) -> EllipticCurvePrivateKey:
    """A P-256 key that everybody knows: for tests only."""
    return derive_private_key(seed, SECP256R1())


SigningKey = Ed25519PrivateKey | EllipticCurvePrivateKey | Signer
KEYS = {role: key_of(number) for number, role in enumerate(ROLES, 1)}


def signing_of(key: SigningKey) -> tuple[bytes, Callable[[bytes], bytes]]:
    """A key's public bytes and its sign function."""
    if isinstance(key, Signer):
        return key.public, key.sign
    if isinstance(key, Ed25519PrivateKey):
        return public_bytes(key), key.sign
    method = ECDSA(SHA256(), deterministic_signing=True)
    return p256.public_bytes(key.public_key()), lambda message: p256.canonical_signature(key.sign(message, method))


def trusted(key: SigningKey, valid_from: int = 0, valid_until: int | None = None) -> dict[str, Any]:
    """A key as a trust root lists it."""
    public, _ = signing_of(key)
    kind = public_keys.key_type(public)
    return {
        "keytype": kind, "scheme": public_keys.SCHEMES[kind], "public": public.hex(), "valid_from": valid_from, "valid_until": valid_until
    }


def key_id(key: SigningKey) -> str:
    return public_keys.key_id(signing_of(key)[0])


def root_value(version: int = 1, **changes: Any) -> dict[str, Any]:
    """A trust root with one key a role."""
    return {
        "schema": "pairmark/trust/v1",
        "version": version,
        "origin": ORIGIN,
        "keys": {key_id(key): trusted(key) for key in KEYS.values()},
        "roles": {role: {"threshold": 1, "keyids": [key_id(key)]} for role, key in KEYS.items()},
        **changes,
    }


def signed_root(value: Mapping[str, Any], *keys: SigningKey) -> dsse.Envelope:
    return dsse.sign(dsse.TRUST, canonical_bytes(value), [signing_of(key) for key in keys or (KEYS["root"],)])


def chain_of(*values: Mapping[str, Any]) -> TrustChain:
    return verify_chain(tuple(signed_root(value) for value in values or (root_value(),)))


def signed_by(key: SigningKey, payload: bytes) -> dsse.Envelope:
    return dsse.sign(dsse.IN_TOTO, payload, [signing_of(key)])


@dataclass
class Log:
    """A log in memory that signs with whatever key it is told to."""

    entries: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    key: Ed25519PrivateKey | Signer = KEYS["log"]
    origin: str = ORIGIN

    def add(self, body: Body, envelope: dsse.Envelope | None = None) -> int:
        self.entries.append((entry_bytes(body), None if envelope is None else envelope.content()))
        return len(self.entries) - 1

    @property
    def leaves(self) -> list[bytes]:
        return [leaf_hash(entry) for entry, _ in self.entries]

    def checkpoint(self, size: int | None = None) -> bytes:
        size = len(self.entries) if size is None else size
        head = Checkpoint(self.origin, size, root(reader_of(self.leaves), size))
        public, sign = signing_of(self.key)
        return head.signed(NoteKey(self.origin, public), sign)

    def receipt(self, index: int, size: int | None = None) -> bytes:
        size = len(self.entries) if size is None else size
        return Receipt(index, tuple(inclusion_proof(reader_of(self.leaves), index, size)), self.checkpoint(size)).content()

    def logged(self, index: int, size: int | None = None) -> Logged:
        entry, envelope = self.entries[index]
        assert envelope is not None
        return Logged(dsse.parse_envelope(envelope), entry, self.receipt(index, size))

    def export(self) -> bytes:
        return b"".join(export_lines(self.entries, self.checkpoint()))


@dataclass(frozen=True)
class Pair:
    """What a certificate is issued over, as a service has it."""

    manifest: dict[str, Any]
    report: dict[str, Any]
    runs: dict[ArmRole, dict[str, Any]]
    rows: dict[ArmRole, str] = field(default_factory=dict)


def announce(log: Log, pair: Pair, runs: str = "run") -> None:
    """Announce and seal every run of a pair, and announce one that never finishes; their ids begin with `runs`."""
    suite = suite_digest(pair.manifest)
    made: list[tuple[str, dict[str, Any]]] = [*pair.runs.items(), ("lost", pair.runs["attacked"])]
    for role, run in made:
        announced = Announcement(
            run=f"{runs}-{role}", document=digest_of({**run, "episodes": None}), suite=suite, system=system_key(run), arm=run["arm"],
            after_the_fact=False, at=AT,
        )
        log.add(announced)
        if role != "lost":
            episodes = run["episodes"]
            log.add(Sealed(run=f"{runs}-{role}", document=digest_of(run), ledger=episodes["digest"], count=episodes["count"], at=AT))


def payload_of(log: Log, pair: Pair, serial: str, runs: str = "run", **changes: Any) -> bytes:
    """The statement of a certificate on this log."""
    from pairmark.provenance.log_export import replay

    suite = suite_digest(pair.manifest)
    before = [entry.entry for entry in replay(log.export()).entries]
    arms = {
        role: ArmClaim(
            f"{runs}-{role}", run, run["episodes"]["digest"], run["episodes"]["count"], pair.rows.get(role),
            count_registered(before, suite, registered(names_of(run), 0, 0, 0), run["arm"]),
        )
        for role, run in pair.runs.items()
    }
    parts: dict[str, Any] = {
        "serial": serial, "issued_at": AT, "certification": f"certification-{serial}", "version": "0.0.1", "commit": None,
        "manifest": pair.manifest, "labels": [pair.manifest["version"]], "report": pair.report, "arms": arms, "up_to": len(before),
    }
    return certificate_bytes(**{**parts, **changes})


def release(log: Log, pair: Pair, serial: str, key: SigningKey = KEYS["certifier"], **changes: Any) -> int:
    """Log a certificate; returns its index."""
    envelope = signed_by(key, payload_of(log, pair, serial, **changes))
    body = Released(certificate=serial, envelope=digest_of_bytes(envelope.content()), suite=suite_digest(pair.manifest), at=AT)
    return log.add(body, envelope)


def bundle_at(log: Log, index: int, statuses: Sequence[int] = (), *, key: SigningKey = KEYS["certifier"], size: int | None = None) -> bytes:
    """The bundle of the certificate at an index."""
    certificate = log.logged(index, size)
    svr = signed_by(key, svr_bytes(read_statement(certificate.envelope.payload)))
    return bundle_bytes(certificate, svr, [log.logged(status) for status in statuses])


def change(log: Log, serials: Sequence[str], status: Any = "revoked", *, by: str | None = None, key: SigningKey = KEYS["revoker"]) -> int:
    """Log a status change of certificates that this log has; returns its index."""
    from pairmark.provenance.status_statement import status_bytes

    envelopes = {
        json.loads(entry)["body"]["certificate"]: json.loads(entry)["body"]["envelope"]
        for entry, _ in log.entries
        if json.loads(entry)["kind"] == "certificate"
    }
    named = {serial: envelopes[serial] for serial in serials}
    envelope = signed_by(key, status_bytes(named, status, "measurement-error", at=AT, by=by))
    body = StatusChanged(
        certificates=tuple(sorted(named)), status=status, reason="measurement-error", by=by, envelope=digest_of_bytes(envelope.content()), at=AT
    )
    return log.add(body, envelope)


def small_pair() -> Pair:
    """A pair whose report is the schema's own example, with run documents made to fit it."""
    report = json.loads((REPOSITORY / "schemas/examples/report/valid/certified.json").read_bytes())
    manifest = json.loads((REPOSITORY / "schemas/examples/suite/valid/every-key.json").read_bytes())
    run = json.loads((REPOSITORY / "schemas/examples/run/valid/attacked-and-defended.json").read_bytes())
    runs: dict[ArmRole, dict[str, Any]] = {}
    for role in ARM_ROLES:
        runs[role] = copy.deepcopy(run)
        runs[role]["arm"] = "benign" if role == "benign" else "attacked"
        runs[role]["episodes"] = {"count": 4, "digest": digest_of(role)}
        if role == "baseline":
            runs[role]["system"]["defenses"] = []
    report["suite"] = {"name": manifest["suite"], "digest": suite_digest(manifest)}
    report["runs"] = {role: digest_of(run) for role, run in runs.items()}
    return Pair(manifest, report, runs)
