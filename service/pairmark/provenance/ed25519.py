"""Ed25519 keys (RFC 8032), with the public keys refused under which forgeries verify.

Also refused are keys of mixed order: a point of prime order plus one of small order. The one private key signs for all eight such points,
so that they would be one key under eight ids.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from pairmark.domain.errors import Malformed

PUBLIC_SIZE = 32
SIGNATURE_SIZE = 64

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
"""Order of the group that the base point makes."""
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)
# y coordinates of the eight points of small order, reduced mod p (Chalkias, Garillot & Nikolaenko 2020, table 5).
_ORDER_8 = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _ORDER_8, _P - _ORDER_8})


def load_public(raw: bytes) -> Ed25519PublicKey:
    """A public key from its 32 bytes.

    Raises:
        Malformed: wrong length, not a canonical encoding, not a point, or a point of small or mixed order.
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
    of_prime_order = _is_of_prime_order(raw)
    if of_prime_order is None:
        raise Malformed("invalid-key", "expected an Ed25519 public key, found 32 other bytes", remedy="pin the key again")
    if not of_prime_order:
        raise Malformed("weak-key", "expected an Ed25519 public key of prime order, found one of mixed order", remedy="make a new key")
    return Ed25519PublicKey.from_public_bytes(raw)


@lru_cache(maxsize=4096)
def _is_of_prime_order(raw: bytes) -> bool | None:
    """Whether the point, taken as often as the group has elements, is the neutral one; None where the bytes are no point.

    Source of the formulas: RFC 8032, sections 5.1.3 and 5.1.4.
    """
    encoded = int.from_bytes(raw, "little")
    y, odd = encoded & (2**255 - 1), encoded >> 255
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = u * pow(v, 3, _P) * pow(u * pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    if v * x * x % _P != u:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if v * x * x % _P != u or (x == 0 and odd):
        return None
    x = x if x % 2 == odd else _P - x
    one = (x, y, 1, x * y % _P)
    found = (0, 1, 1, 0)
    for bit in f"{_ORDER:b}":
        found = _sum(found, found)
        if bit == "1":
            found = _sum(found, one)
    return found[0] == 0 and (found[1] - found[2]) % _P == 0


_Point = tuple[int, int, int, int]


def _sum(left: _Point, right: _Point) -> _Point:
    """Of two points in extended coordinates; the formula is complete, so that it doubles too."""
    x1, y1, z1, t1 = left
    x2, y2, z2, t2 = right
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * t1 * t2 * _D % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


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
