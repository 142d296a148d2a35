"""Ed25519 keys (RFC 8032), with the public keys refused under which forgeries verify."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pairmark.domain.errors import Malformed

PUBLIC_SIZE = 32
SIGNATURE_SIZE = 64

_P = 2**255 - 19
# y coordinates of the eight points of small order, reduced mod p (Chalkias, Garillot & Nikolaenko 2020, table 5).
_ORDER_8 = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})


def load_public(raw: bytes) -> Ed25519PublicKey:
    """A public key from its 32 bytes.

    Raises:
        Malformed: wrong length, not a canonical encoding, not a point, or a point of small order.
    """
    if len(raw) != PUBLIC_SIZE:
        raise Malformed("invalid-key", f"expected an Ed25519 public key of 32 bytes, found {len(raw)}", remedy="pin the key again")
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _P:
        raise Malformed("invalid-key", "expected a canonical Ed25519 public key, found y >= p", remedy="pin the key again")
    if y in _SMALL_ORDER_Y:
        raise Malformed(
            "weak-key", "expected an Ed25519 public key of large order, found one of small order", remedy="make a new key"
        )
    try:
        return Ed25519PublicKey.from_public_bytes(raw)
    except ValueError:
        raise Malformed("invalid-key", "expected an Ed25519 public key, found 32 other bytes", remedy="pin the key again") from None


def verifies(raw_public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` is one of `message` under the key.

    Raises:
        Malformed: the key itself is not acceptable (`load_public`).
    """
    key = load_public(raw_public)
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def public_bytes(private: Ed25519PrivateKey) -> bytes:
    """The 32 bytes of its public key."""
    return private.public_key().public_bytes_raw()
