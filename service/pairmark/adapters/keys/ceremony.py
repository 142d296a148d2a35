"""Making, rotating and revoking keys. Each change is one new version of the trust root, signed by the old and the new root.

`trust.json` is the point of no return: a new key waits beside it until the trust root that names it is on disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairmark.adapters.keys.external import ExternalKey
from pairmark.adapters.keys.files import write_durably, write_key
from pairmark.adapters.keys.signers import TRUST_FILE, finish_rotation, next_file, open_keys, read_chain, read_signer
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Conflict, Malformed
from pairmark.provenance.dsse import TRUST, sign
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.public_keys import SCHEMES, key_id, key_type
from pairmark.provenance.trust import ROLES, RoleName, TrustChain, verify_chain


def init_keys(
    directory: str | Path, origin: str, passphrase: bytes | None = None, *, external: Mapping[RoleName, ExternalKey] | None = None
) -> TrustChain:
    """Make one key for each role and the first trust root. Returns the chain; its `root_digest` is what others pin.

    Args:
        directory: new or without keys; made with mode 0700.
        origin: the log's name, such as `example.org/pairmark`: no spaces, no plus. It never changes.
        passphrase: encrypts the key files.
        external: keys of some roles that are not files here; for the others files are made.

    Raises:
        Conflict: there are keys already.
        Malformed: an origin that cannot be one, or a key that cannot be used.
    """
    folder = Path(directory)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.glob("*.pem")) or any(folder.glob("*.uri")) or (folder / TRUST_FILE).exists():
        raise Conflict("keys-exist", f"expected a folder without keys, found some in {folder}", "choose another, or rotate a key")
    elsewhere = {} if external is None else external
    made = {role: Ed25519PrivateKey.generate() for role in ROLES if role not in elsewhere}
    usable = {role: _usable(role, elsewhere[role]) if role in elsewhere else (public_bytes(made[role]), made[role].sign) for role in ROLES}
    value = {
        "schema": "pairmark/trust/v1",
        "version": 1,
        "origin": origin,
        "keys": {key_id(public): _entry(public, 0) for public, _ in usable.values()},
        "roles": {role: {"threshold": 1, "keyids": [key_id(public)]} for role, (public, _) in usable.items()},
    }
    chain = verify_chain((sign(TRUST, canonical_bytes(value), [usable["root"]]),))
    for role, key in made.items():
        write_key(folder / f"{role}.pem", key, passphrase)
    for role, named in elsewhere.items():
        write_durably(folder / f"{role}.uri", named.content(), 0o600)
    _write(folder, chain)
    return chain


def rotate(
    directory: str | Path, role: RoleName, from_index: int, passphrase: bytes | None = None, *, external: ExternalKey | None = None
) -> TrustChain:
    """Give a role a new key. It signs from log index `from_index` on; the old one no more from there.

    Args:
        directory: folder of keys, the root key among them.
        role: any; a new root signs the new version together with the old one.
        from_index: how many entries the log has now.
        passphrase: of the key files.
        external: the new key, where it is not a file here; else one is made.

    Raises:
        Malformed: a key cannot be read or used, or `from_index` lies before the open key's own first index.
    """
    folder = Path(directory)
    chain = _settled(folder, passphrase)
    for keyid in open_keys(chain, role):
        first = chain.current.keys[keyid].valid_from
        if from_index < first:
            raise Malformed(
                "too-early", f"expected an index from {first} on, where the key of role {role} begins; found {from_index}",
                remedy="give the number of entries the log has now",
            )
    return _replace(folder, chain, role, from_index, passphrase, external)


def revoke(
    directory: str | Path, role: RoleName, from_index: int, passphrase: bytes | None = None, *, external: ExternalKey | None = None
) -> TrustChain:
    """Take trust from every key of a role for log indices from `from_index` on, and give it a new key from there.

    Unlike a rotation it reaches back: what such a key signed at `from_index` or later stops verifying.

    Raises:
        Malformed: a key cannot be read.
    """
    folder = Path(directory)
    return _replace(folder, _settled(folder, passphrase), role, from_index, passphrase, external)


def _entry(public: bytes, valid_from: int) -> dict[str, Any]:
    kind = key_type(public)
    return {"keytype": kind, "scheme": SCHEMES[kind], "public": public.hex(), "valid_from": valid_from, "valid_until": None}


def _usable(role: RoleName, key: ExternalKey) -> tuple[bytes, Callable[[bytes], bytes]]:
    """The key's public bytes and its sign function, which has signed once."""
    if role == "log" and key_type(key.public) != "ed25519":
        raise Malformed(
            "wrong-key-type", "expected an Ed25519 key for role log, since checkpoints are signed with no other; found a P-256 key",
            remedy="use a key file, or a keeper of Ed25519 keys, for role log",
        )
    signing = key.signer()
    signing(b"a key that cannot sign is found here, before the trust root names it")
    return key.public, signing


def _settled(folder: Path, passphrase: bytes | None) -> TrustChain:
    chain = read_chain(folder)
    finish_rotation(folder, chain, passphrase)
    return chain


def _replace(
    folder: Path, chain: TrustChain, role: RoleName, from_index: int, passphrase: bytes | None, external: ExternalKey | None = None
) -> TrustChain:
    """Close the role's windows at `from_index`, add a key, sign, write the waiting key, then `trust.json`, then tidy up."""
    made = Ed25519PrivateKey.generate()
    public, new_sign = (public_bytes(made), made.sign) if external is None else _usable(role, external)
    name = key_id(public)
    value: dict[str, Any] = json.loads(chain.envelopes[-1].payload)
    if name in value["keys"]:
        raise Malformed("known-key", f"expected a key that the trust root does not know, found {name}", remedy="make a new key")
    value["version"] += 1
    old_ids = value["roles"][role]["keyids"]
    for keyid in old_ids:
        key = value["keys"][keyid]
        if key["valid_until"] is None or key["valid_until"] > from_index:
            key["valid_until"] = max(from_index, key["valid_from"])
    value["keys"][name] = _entry(public, from_index)
    # A chain is checked without a log index, so a root that is gone must leave its role; other roles keep theirs for what they signed.
    value["roles"][role]["keyids"] = [name] if role == "root" else [*old_ids, name]
    root = read_signer(folder, "root", passphrase)
    roots = [(root.public, root.sign), *([(public, new_sign)] if role == "root" else [])]
    longer = verify_chain((*chain.envelopes, sign(TRUST, canonical_bytes(value), roots)))
    if external is None:
        write_key(next_file(folder, role), made, passphrase)
    else:
        write_durably(next_file(folder, role, "uri"), external.content(), 0o600)
    _write(folder, longer)
    finish_rotation(folder, longer, passphrase)
    return longer


def _write(folder: Path, chain: TrustChain) -> None:
    write_durably(folder / TRUST_FILE, chain.content(), 0o644)
