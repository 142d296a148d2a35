"""Public keys of signed statements, as raw bytes: 32 of an Ed25519 key, or 65 of a point of P-256.

Both kinds sign envelopes; checkpoints are signed with Ed25519 only. The length says the kind, and each key has one form, so that one
key has one id. Why two kinds, and where: docs/adr/0012.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from pairmark.domain.canonical import digest_of
from pairmark.domain.errors import Malformed
from pairmark.provenance import ed25519, p256

KeyType = Literal["ed25519", "ecdsa"]
Scheme = Literal["ed25519", "ecdsa-sha2-nistp256"]
SCHEMES: dict[KeyType, Scheme] = {"ed25519": "ed25519", "ecdsa": "ecdsa-sha2-nistp256"}


def key_type(public: bytes) -> KeyType:
    """Which kind of key these bytes are of.

    Raises:
        Malformed: neither 32 nor 65 bytes.
    """
    if len(public) == ed25519.PUBLIC_SIZE:
        return "ed25519"
    if len(public) == p256.PUBLIC_SIZE:
        return "ecdsa"
    raise Malformed(
        "invalid-key", f"expected the {ed25519.PUBLIC_SIZE} bytes of an Ed25519 key or the {p256.PUBLIC_SIZE} of a P-256 point, found {len(public)}",
        remedy="pin the key again",
    )


def require_sound(public: bytes) -> None:
    """Refuse a key under which forgeries verify, or that is written in another form than its one.

    Raises:
        Malformed: saying what is wrong with it.
    """
    if key_type(public) == "ed25519":
        ed25519.load_public(public)
    else:
        p256.load_public(public)


def key_id(public: bytes) -> str:
    """64 hex digits: SHA-256 of the key's canonical description, as securesystemslib computes it.

    Raises:
        Malformed: bytes that are no key.
    """
    if key_type(public) == "ed25519":
        description = {"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": public.hex()}}
        return digest_of(description).removeprefix("sha256:")
    # Its canonical JSON leaves line feeds as they are, where RFC 8785 writes \n; PEM holds nothing else that either would escape.
    pem = p256.public_pem(public)
    return hashlib.sha256(b'{"keytype":"ecdsa","keyval":{"public":"%s"},"scheme":"ecdsa-sha2-nistp256"}' % pem).hexdigest()


def verifies(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` is one of `message` under the key.

    Raises:
        Malformed: the key itself is not acceptable.
    """
    check = ed25519.verifies if key_type(public) == "ed25519" else p256.verifies
    return check(public, signature, message)
