"""A folder of keys: `trust.json` and, for each role, `<role>.pem` (or `<role>.uri`). The root key is needed for ceremonies only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
MARK = "high-water-mark.json"
"""Lies beside the keys of a log that has signed something (`pairmark.adapters.log.mark`)."""


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
            raise Malformed("no-key", f"expected the key of role {role}, found none", remedy=bring_back(role))
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
        if not isinstance(problem, FileNotFoundError):
            remedy = "check the path and its permissions"
        elif next(used_files(path.parent), None) is not None:
            remedy = "bring trust.json back from where it is published: new keys would begin another log"
        else:
            remedy = "check the path; for a new log make keys with `pairmark keys init`"
        raise Malformed("no-trust", f"expected a trust root, found: {problem.strerror}", str(path), remedy=remedy) from None
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


def used_files(folder: Path) -> Iterator[Path]:
    """What shows that a folder belongs to a log already: keys in place, or what was signed with them. Waiting keys do not."""
    waiting = {next_file(folder, role, kind) for role in ROLES for kind in KINDS}
    for pattern in ("*.pem", "*.uri", MARK):
        yield from (path for path in folder.glob(pattern) if path not in waiting)


def bring_back(role: RoleName) -> str:
    """What to do where a role's key is not there. New keys are never the remedy: they would begin another log."""
    back = f"bring {role}.pem (or {role}.uri) back from where it is kept"
    return back if role == "root" else f"{back}, or if it is lost give the role a new one: `pairmark keys rotate {role}`"


def open_keys(chain: TrustChain, role: RoleName) -> set[str]:
    """Ids of a role's keys whose window has no end."""
    root = chain.current
    return {keyid for keyid in root.role(role).keyids if root.keys[keyid].valid_until is None}


def read_signer(folder: Path, role: RoleName, passphrase: bytes | None) -> Signer:
    """A role's signer from its file: `<role>.uri` where there is one, else `<role>.pem`. Whether it is trusted is not asked.

    Raises:
        Malformed: missing, exposed, or it cannot be used.
    """
    if not any((folder / f"{role}.{kind}").exists() for kind in KINDS):
        raise Malformed(
            "unreadable-key", f"expected the key of role {role}, found no such file", str(folder / f"{role}.pem"), remedy=bring_back(role)
        )
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


def finish_rotation(folder: Path, chain: TrustChain, passphrase: bytes | None) -> dict[RoleName, str]:
    """Put waiting keys in place if the trust root names them; remove those that it does not. `trust.json` decides.

    Returns the ids of the keys that were put in place, by role.
    """
    finished: dict[RoleName, str] = {}
    for role in ROLES:
        for kind in KINDS:
            waiting = next_file(folder, role, kind)
            if not waiting.exists():
                continue
            name = _key_id_in(waiting, kind, passphrase)
            if name in open_keys(chain, role):
                _retire(folder, role, passphrase)
                waiting.replace(folder / f"{role}.{kind}")
                finished[role] = name
            else:
                waiting.unlink()
            sync_folder(folder)
    return finished


def next_file(folder: Path, role: RoleName, kind: str = "pem") -> Path:
    """Where a new key waits until the trust root names it."""
    return folder / f"{role}.next.{kind}"


def prepare_retirement(folder: Path, role: RoleName, passphrase: bytes | None) -> None:
    """Find out, before anything is written, whether a role's key can be moved out of use.

    Raises:
        Malformed: a key that is there is exposed or cannot be read.
    """
    if _in_place(folder, role, passphrase):
        _retired(folder)


def _retire(folder: Path, role: RoleName, passphrase: bytes | None) -> None:
    """Move a role's key out of use; it is kept, since destroying it is a person's decision."""
    found = _in_place(folder, role, passphrase)
    for place, name in found.items():
        place.replace(_retired(folder) / f"{role}-{name[:16]}{place.suffix}")
    if found:
        sync_folder(_retired(folder))


def _in_place(folder: Path, role: RoleName, passphrase: bytes | None) -> dict[Path, str]:
    places = ((folder / f"{role}.{kind}", kind) for kind in KINDS)
    return {place: _key_id_in(place, kind, passphrase) for place, kind in places if place.exists()}


def _retired(folder: Path) -> Path:
    target = folder / RETIRED
    target.mkdir(mode=0o700, exist_ok=True)
    return target


def _key_id_in(path: Path, kind: str, passphrase: bytes | None) -> str:
    return key_id(read_external(path).public if kind == "uri" else public_bytes(read_key(path, passphrase)))
