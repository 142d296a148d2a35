"""Making, rotating and revoking keys. Each change is one new version of the trust root, signed by the old and the new root.

Everything that can be found out is found out before anything is written. `trust.json` is the point of no return: new keys wait
beside it until the trust root that names them is on disk. A change that was interrupted before is as if it had never begun; one
that was interrupted after is finished when the keys are read next, also by the same command given again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairmark.adapters.keys.external import ExternalKey
from pairmark.adapters.keys.files import remove_scratch, write_durably, write_key
from pairmark.adapters.keys.signers import (
    KINDS,
    TRUST_FILE,
    finish_rotation,
    next_file,
    open_keys,
    prepare_retirement,
    read_chain,
    read_signer,
    used_files,
)
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Conflict, Malformed, shown
from pairmark.domain.strict_json import MAX_SAFE_INTEGER
from pairmark.provenance.dsse import TRUST, sign
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.note import is_key_name
from pairmark.provenance.public_keys import SCHEMES, key_id, key_type
from pairmark.provenance.trust import ROLES, RoleName, TrustChain, verify_chain

MAX_ORIGIN = 1024


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
    elsewhere = {} if external is None else external
    _require_origin(origin)
    begun = _begun(folder, origin, passphrase, elsewhere)
    if begun is not None:
        return begun
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
    there = folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _forget_waiting(folder)
    try:
        for role in ROLES:
            _write_waiting(folder, role, elsewhere.get(role, made.get(role)), passphrase)
        _write(folder, chain)
    except OSError:
        if not (folder / TRUST_FILE).exists():
            _forget_waiting(folder)
            if not there:
                folder.rmdir()
        raise
    finish_rotation(folder, chain, passphrase)
    return chain


def _require_origin(origin: str) -> None:
    if not is_key_name(origin) or len(origin) > MAX_ORIGIN:
        raise Malformed(
            "invalid-origin", f"expected as origin (--origin) a name of 1 to {MAX_ORIGIN} characters without spaces and plus, found {shown(origin)}",
            remedy="give one such as example.org/pairmark",
        )


def _begun(folder: Path, origin: str, passphrase: bytes | None, elsewhere: Mapping[RoleName, ExternalKey]) -> TrustChain | None:
    """The chain of a making that was interrupted after its trust root was written, finished now; none in a folder without keys."""
    if (folder / TRUST_FILE).exists():
        chain = read_chain(folder)
        named = all(key_id(key.public) in open_keys(chain, role) for role, key in elsewhere.items())
        waiting = any(next_file(folder, role, kind).exists() for role in ROLES for kind in KINDS)
        if waiting and named and (chain.current.version, chain.current.origin) == (1, origin):
            finish_rotation(folder, chain, passphrase)
            return chain
    elif next(used_files(folder), None) is None:
        return None
    raise Conflict("keys-exist", f"expected a folder without keys, found some in {folder}", "choose another, or rotate a key")


def _forget_waiting(folder: Path) -> None:
    """Remove what an interrupted change left that no trust root names: waiting keys, and halves of files."""
    for role in ROLES:
        for kind in KINDS:
            next_file(folder, role, kind).unlink(missing_ok=True)
    _sweep(folder)


def _sweep(folder: Path) -> None:
    for name in (TRUST_FILE, *(next_file(folder, role, kind).name for role in ROLES for kind in KINDS)):
        remove_scratch(folder / name)


def _write_waiting(folder: Path, role: RoleName, key: Ed25519PrivateKey | ExternalKey | None, passphrase: bytes | None) -> None:
    assert key is not None
    if isinstance(key, ExternalKey):
        write_durably(next_file(folder, role, "uri"), key.content(), 0o600)
    else:
        write_key(next_file(folder, role), key, passphrase)


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
    _require_index(from_index)
    chain, finished = _settled(folder, passphrase)
    if _same_change(chain, role, from_index, finished, external):
        return chain
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
    _require_index(from_index)
    chain, finished = _settled(folder, passphrase)
    if _same_change(chain, role, from_index, finished, external):
        return chain
    return _replace(folder, chain, role, from_index, passphrase, external)


def _require_index(index: int) -> None:
    if not 0 <= index <= MAX_SAFE_INTEGER:
        raise Malformed(
            "invalid-index", f"expected a log index (--from-index) from 0 to {MAX_SAFE_INTEGER}, found {index}",
            remedy="give the number of entries the log has now",
        )


def _same_change(chain: TrustChain, role: RoleName, from_index: int, finished: Mapping[RoleName, str], external: ExternalKey | None) -> bool:
    """Whether what was just finished is what is asked for: the same command, given again after it was interrupted."""
    name = finished.get(role)
    if name is None or (external is not None and key_id(external.public) != name):
        return False
    key = chain.current.keys[name]
    others = (chain.current.keys[keyid].valid_until for keyid in chain.current.role(role).keyids if keyid != name)
    return key.valid_from == from_index and all(until is not None and until <= from_index for until in others)


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
    key.require_storable()
    signing = key.signer()
    signing(b"a key that cannot sign is found here, before the trust root names it")
    return key.public, signing


def _settled(folder: Path, passphrase: bytes | None) -> tuple[TrustChain, dict[RoleName, str]]:
    """The chain, after what was interrupted is finished or forgotten; and which keys that put in place."""
    chain = read_chain(folder)
    finished = finish_rotation(folder, chain, passphrase)
    _sweep(folder)
    return chain, finished


def _replace(
    folder: Path, chain: TrustChain, role: RoleName, from_index: int, passphrase: bytes | None, external: ExternalKey | None = None
) -> TrustChain:
    """Check every key that is needed; close the role's windows, add a key, sign; write the waiting key, then `trust.json`, then tidy up."""
    root = read_signer(folder, "root", passphrase)
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
    roots = [(root.public, root.sign), *([(public, new_sign)] if role == "root" else [])]
    longer = verify_chain((*chain.envelopes, sign(TRUST, canonical_bytes(value), roots)))
    prepare_retirement(folder, role, passphrase)
    _write_waiting(folder, role, made if external is None else external, passphrase)
    _write(folder, longer)
    finish_rotation(folder, longer, passphrase)
    return longer


def _write(folder: Path, chain: TrustChain) -> None:
    write_durably(folder / TRUST_FILE, chain.content(), 0o644)
