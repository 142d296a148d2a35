"""The trust root: which keys may sign what, for which log indices; a chain of versions, each signed by the old and the new root.

`trust.json` holds the whole chain, so that a stranger can check it from the version that was pinned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator

from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.documents.base import Count, Document, Identifier, Ordinal, Strict, malformed_from
from pairmark.domain.errors import Malformed, shown
from pairmark.provenance import dsse
from pairmark.provenance.exact import read_exact
from pairmark.provenance.note import NoteKey, is_key_name
from pairmark.provenance.public_keys import SCHEMES, KeyType, Scheme, key_id, key_type, require_sound

RoleName = Literal["root", "certifier", "revoker", "log"]
ROLES: tuple[RoleName, ...] = ("root", "certifier", "revoker", "log")
MAX_VERSIONS = 1000

KeyId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", min_length=64, max_length=64)]


PublicHex = Annotated[str, StringConstraints(pattern=r"^(?:[0-9a-f]{64}|04[0-9a-f]{128})$", min_length=64, max_length=130)]


class TrustedKey(Strict):
    """A public key and the log indices it may sign for: `valid_from` <= index < `valid_until` (null: no end)."""

    keytype: KeyType
    scheme: Scheme
    public: PublicHex
    valid_from: Count
    valid_until: Count | None


class TrustedRole(Strict):
    """A threshold counts distinct keys."""

    threshold: Ordinal
    keyids: Annotated[tuple[KeyId, ...], Field(min_length=1)]


class TrustRoles(Strict):
    root: TrustedRole
    certifier: TrustedRole
    revoker: TrustedRole
    log: TrustedRole


class TrustRoot(Document):
    """One version of the trust root."""

    title: ClassVar[str] = "trust"

    schema_: Literal["pairmark/trust/v1"] = Field(alias="schema")
    version: Ordinal
    origin: Identifier
    keys: dict[KeyId, TrustedKey]
    roles: TrustRoles

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not is_key_name(self.origin):
            raise ValueError(f"expected an origin without spaces and plus, found {shown(self.origin)}")
        for keyid, key in self.keys.items():
            public = bytes.fromhex(key.public)
            if (key.keytype, key.scheme) != (key_type(public), SCHEMES[key_type(public)]):
                raise ValueError(f"expected key {keyid} to be of the type and scheme that its bytes are, found {key.keytype} and {key.scheme}")
            try:
                require_sound(public)
            except Malformed as weak:
                raise ValueError(f"expected keys that can be relied on: {weak.message}") from None
            if key_id(public) != keyid:
                raise ValueError(f"expected every key under its own id, found {keyid}")
            if key.valid_until is not None and key.valid_until < key.valid_from:
                raise ValueError(f"expected valid_until not before valid_from, found key {keyid}")
        for name in ROLES:
            role: TrustedRole = getattr(self.roles, name)
            if len(set(role.keyids)) != len(role.keyids) or not set(role.keyids) <= set(self.keys):
                raise ValueError(f"expected role {name} to name listed keys, each once")
            if role.threshold > len(role.keyids):
                raise ValueError(f"expected a threshold role {name} can meet, found {role.threshold} of {len(role.keyids)}")
        if any(self.keys[keyid].keytype != "ed25519" for keyid in self.roles.log.keyids):
            raise ValueError("expected Ed25519 keys for role log, which signs checkpoints; found another kind")
        if self.roles.log.threshold != 1:
            raise ValueError("expected a threshold of 1 for role log: a checkpoint carries one signature of the log")
        return self

    def role(self, name: RoleName) -> TrustedRole:
        """The role of that name."""
        found: TrustedRole = getattr(self.roles, name)
        return found

    def keys_of(self, name: RoleName, index: int | None = None) -> dict[str, bytes]:
        """Public bytes by key id of a role; with `index`, only the keys that may sign for that log index."""
        keys = {keyid: self.keys[keyid] for keyid in self.role(name).keyids}
        return {
            keyid: bytes.fromhex(key.public)
            for keyid, key in keys.items()
            if index is None or (key.valid_from <= index and (key.valid_until is None or index < key.valid_until))
        }

    def log_keys(self) -> tuple[NoteKey, ...]:
        """Verifier keys of the log's checkpoints."""
        return tuple(NoteKey(self.origin, public) for public in self.keys_of("log").values())


@dataclass(frozen=True)
class TrustChain:
    """Verified versions in order; `current` is the last. `root_digest` is what a verifier pins."""

    roots: tuple[TrustRoot, ...]
    envelopes: tuple[dsse.Envelope, ...]

    @property
    def current(self) -> TrustRoot:
        return self.roots[-1]

    @property
    def root_digest(self) -> str:
        """Digest of the first version's payload."""
        return digest_of_bytes(self.envelopes[0].payload)

    def content(self) -> bytes:
        """`trust.json`: RFC 8785 bytes of the whole chain."""
        roots = [envelope.value() for envelope in self.envelopes]
        return canonical_bytes({"schema": "pairmark/trust-chain/v1", "roots": roots})


def read_trust_root(payload: bytes, *, file: str | None = None) -> TrustRoot:
    """One version from its payload bytes.

    Raises:
        Malformed: not canonical, or not a trust root.
    """
    read_exact(payload, "a trust root", file=file)
    try:
        return TrustRoot.model_validate_json(payload)
    except ValidationError as problem:
        raise malformed_from(problem, payload, file) from None


def verify_chain(envelopes: tuple[dsse.Envelope, ...], *, pinned: str | None = None, file: str | None = None) -> TrustChain:
    """Check a chain from its first version.

    1. There is a version, and the first has the pinned digest where one is pinned.
    2. Versions go up by one from the first, and the origin never changes.
    3. Each is signed by the threshold of its own root role, and each but the first by that of the one before.
    4. A key keeps its material and its first index; its window may only be closed, never opened again.

    Raises:
        Malformed: naming the version and what does not hold.
    """
    if not 0 < len(envelopes) <= MAX_VERSIONS:
        raise Malformed("invalid-trust", f"expected 1 to {MAX_VERSIONS} versions, found {len(envelopes)}", file, remedy="fetch it again")
    first = digest_of_bytes(envelopes[0].payload)
    if pinned is not None and first != pinned:
        raise Malformed("wrong-root", f"expected the pinned root {pinned}, found {first}", file, remedy="do not trust it")
    roots: list[TrustRoot] = []
    for number, envelope in enumerate(envelopes):
        root = read_trust_root(envelope.payload, file=file)
        signing = [root, *roots[-1:]]
        keys = {keyid: public for version in signing for keyid, public in version.keys_of("root").items()}
        signed = set(dsse.verify(envelope, dsse.TRUST, keys, 1))
        for version in signing:
            role = version.role("root")
            if len(signed & set(role.keyids)) < role.threshold:
                raise Malformed(
                    "threshold-not-met",
                    f"expected trust root version {root.version} signed by {role.threshold} root keys of version {version.version}, "
                    f"found {len(signed & set(role.keyids))}",
                    file, None, f"/roots/{number}", "do not trust it",
                )
        if roots:
            _follows(roots[-1], root, file, f"/roots/{number}")
        elif root.version != 1:
            raise Malformed("invalid-trust", f"expected version 1 first, found {root.version}", file, None, "/roots/0", "fetch the whole chain")
        roots.append(root)
    return TrustChain(tuple(roots), envelopes)


def _follows(old: TrustRoot, new: TrustRoot, file: str | None, pointer: str) -> None:
    def refuse(expected: str) -> Malformed:
        return Malformed("invalid-trust", expected, file, None, pointer, "do not trust it")

    if new.version != old.version + 1:
        raise refuse(f"expected version {old.version + 1}, found {new.version}")
    if new.origin != old.origin:
        raise refuse(f"expected origin {shown(old.origin)}, found {shown(new.origin)}")
    for keyid, before in old.keys.items():
        after = new.keys.get(keyid)
        if after is None:
            raise refuse(f"expected version {new.version} to keep key {keyid}, closed if need be; found it gone")
        if after.valid_from != before.valid_from:
            raise refuse(f"expected key {keyid} to keep its first index, found it moved")
        closed_later = before.valid_until is not None and (after.valid_until is None or after.valid_until > before.valid_until)
        if closed_later:
            raise refuse(f"expected the window of key {keyid} to stay closed, found it opened again")


def parse_trust(data: bytes, *, pinned: str | None = None, file: str | None = None) -> TrustChain:
    """Read and verify `trust.json`.

    Raises:
        Malformed: not canonical, another shape, or a chain that does not hold.
    """
    value: Any = read_exact(data, "a trust chain", file=file)
    shape = isinstance(value, dict) and set(value) == {"schema", "roots"} and isinstance(value["roots"], list)
    if not shape or value["schema"] != "pairmark/trust-chain/v1":
        raise Malformed("invalid-trust", "expected a trust chain (pairmark/trust-chain/v1)", file, remedy="give the service's trust.json")
    envelopes = tuple(
        dsse.envelope_of(item, file=file, pointer=f"/roots/{number}") for number, item in enumerate(value["roots"])
    )
    return verify_chain(envelopes, pinned=pinned, file=file)
