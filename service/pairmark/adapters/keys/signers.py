"""A folder of keys: `trust.json` and, for each role, `<role>.pem` (or `<role>.uri`). The root key is needed for ceremonies only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pairmark.adapters.keys.external import read_external
from pairmark.adapters.keys.files import read_key, sync_folder
from pairmark.domain.errors import Malformed
from pairmark.provenance.dsse import IN_TOTO, Envelope, sign
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.note import NoteKey
from pairmark.provenance.public_keys import key_id
from pairmark.provenance.trust import ROLES, RoleName, TrustChain, parse_trust

TRUST_FILE = "trust.json"
RETIRED = "retired"
KINDS = ("pem", "uri")
SERVICE_ROLES: tuple[RoleName, ...] = ("certifier", "revoker", "log")
MAX_TRUST_BYTES = 64_000_000


@dataclass(frozen=True)
class Signer:
    """A role's key: its public bytes, and a function that signs bytes."""

    role: RoleName
    public: bytes
    sign: Callable[[bytes], bytes]

    @property
    def key_id(self) -> str:
        """64 hex digits."""
        return key_id(self.public)


@dataclass(frozen=True)
class Signers:
    """The trust chain and the signers that were loaded under it."""

    chain: TrustChain
    by_role: Mapping[RoleName, Signer]

    def of(self, role: RoleName) -> Signer:
        """The signer of a role.

        Raises:
            Malformed: its key was not loaded.
        """
        signer = self.by_role.get(role)
        if signer is None:
            raise Malformed("no-key", f"expected the key of role {role}, found none", remedy=f"put {role}.pem into the folder of keys")
        return signer

    def envelope(self, role: RoleName, payload: bytes) -> Envelope:
        """An in-toto payload signed by a role."""
        signer = self.of(role)
        return sign(IN_TOTO, payload, [(signer.public, signer.sign)])

    def note_key(self) -> NoteKey:
        """The key that signs checkpoints, as notes name it."""
        return NoteKey(self.chain.current.origin, self.of("log").public)


def read_chain(directory: str | Path, *, pinned: str | None = None) -> TrustChain:
    """The trust chain of a folder of keys.

    Raises:
        Malformed: missing, or not a chain that holds.
    """
    path = Path(directory) / TRUST_FILE
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_TRUST_BYTES)
    except OSError as problem:
        raise Malformed(
            "no-trust", f"expected a trust root, found: {problem.strerror}", str(path), remedy="make keys with `pairmark keys init`"
        ) from None
    return parse_trust(data, pinned=pinned, file=str(path))


def load_signers(
    directory: str | Path, passphrase: bytes | None = None, *, roles: Iterable[RoleName] = SERVICE_ROLES, pinned: str | None = None
) -> Signers:
    """The signers of some roles. Each key must be one of its role whose window is open; an interrupted rotation is finished first.

    Raises:
        Malformed: a missing, exposed or unreadable key, or one that the trust root does not let sign.
    """
    folder = Path(directory)
    chain = read_chain(folder, pinned=pinned)
    finish_rotation(folder, chain, passphrase)
    return Signers(chain, {role: _signer(folder, chain, role, passphrase) for role in roles})


def open_keys(chain: TrustChain, role: RoleName) -> set[str]:
    """Ids of a role's keys whose window has no end."""
    root = chain.current
    return {keyid for keyid in root.role(role).keyids if root.keys[keyid].valid_until is None}


def read_signer(folder: Path, role: RoleName, passphrase: bytes | None) -> Signer:
    """A role's signer from its file: `<role>.uri` where there is one, else `<role>.pem`. Whether it is trusted is not asked.

    Raises:
        Malformed: missing, exposed, or it cannot be used.
    """
    if (folder / f"{role}.uri").exists():
        external = read_external(folder / f"{role}.uri")
        return Signer(role, external.public, external.signer())
    key = read_key(folder / f"{role}.pem", passphrase)
    return Signer(role, public_bytes(key), key.sign)


def _signer(folder: Path, chain: TrustChain, role: RoleName, passphrase: bytes | None) -> Signer:
    signer = read_signer(folder, role, passphrase)
    if signer.key_id not in open_keys(chain, role):
        raise Malformed(
            "untrusted-key", f"expected a key that version {chain.current.version} of the trust root lets sign as {role}, "
            f"found {signer.key_id}", str(folder), remedy=f"rotate: `pairmark keys rotate {role}`",
        )
    return signer


def finish_rotation(folder: Path, chain: TrustChain, passphrase: bytes | None) -> None:
    """Put a waiting key in place if the trust root names it; remove it if it does not. `trust.json` decides."""
    for role in ROLES:
        for kind in KINDS:
            waiting = next_file(folder, role, kind)
            if not waiting.exists():
                continue
            public = read_external(waiting).public if kind == "uri" else public_bytes(read_key(waiting, passphrase))
            if key_id(public) in open_keys(chain, role):
                _retire(folder, role, passphrase)
                waiting.replace(folder / f"{role}.{kind}")
            else:
                waiting.unlink()
            sync_folder(folder)


def next_file(folder: Path, role: RoleName, kind: str = "pem") -> Path:
    """Where a new key waits until the trust root names it."""
    return folder / f"{role}.next.{kind}"


def _retire(folder: Path, role: RoleName, passphrase: bytes | None) -> None:
    """Move a role's key out of use; it is kept, since destroying it is a person's decision."""
    target = folder / RETIRED
    target.mkdir(mode=0o700, exist_ok=True)
    for kind in KINDS:
        place = folder / f"{role}.{kind}"
        if place.exists():
            public = read_external(place).public if kind == "uri" else public_bytes(read_key(place, passphrase))
            place.replace(target / f"{role}-{key_id(public)[:16]}.{kind}")
    sync_folder(target)
