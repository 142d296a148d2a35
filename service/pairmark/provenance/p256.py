"""ECDSA over P-256 with SHA-256 (FIPS 186-5), one form for each key and each signature.

A key is its uncompressed point (SEC 1: 0x04, x, y; 65 bytes). A signature is DER, written again to the same bytes, with the lower of
the two values of s that verify: without both rules anybody could turn one valid signature into another.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from pairmark.domain.errors import Malformed

PUBLIC_SIZE = 65
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Order of the curve's group (SEC 2, secp256r1). Its cofactor is 1: no point but the neutral one is of small order."""

_UNCOMPRESSED = 0x04


def load_public(raw: bytes) -> EllipticCurvePublicKey:
    """A public key from the 65 bytes of its point.

    Raises:
        Malformed: another length or form (compressed, hybrid, the neutral point), or not a point of the curve.
    """
    if len(raw) != PUBLIC_SIZE or raw[0] != _UNCOMPRESSED:
        raise Malformed(
            "invalid-key", f"expected a P-256 point of {PUBLIC_SIZE} bytes, uncompressed; found {len(raw)} other bytes", remedy="pin the key again"
        )
    try:
        return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), raw)
    except ValueError:
        raise Malformed("invalid-key", "expected a point of the curve P-256, found 65 other bytes", remedy="pin the key again") from None


def public_bytes(key: EllipticCurvePublicKey) -> bytes:
    """The 65 bytes of a key's point.

    Raises:
        Malformed: a key of another curve.
    """
    if not isinstance(key.curve, SECP256R1):
        raise Malformed("invalid-key", f"expected a key of the curve P-256, found {key.curve.name}", remedy="make a P-256 or an Ed25519 key")
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def public_pem(raw: bytes) -> bytes:
    """The key as SubjectPublicKeyInfo in PEM, as other tools name it."""
    return load_public(raw).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def canonical_signature(signature: bytes) -> bytes:
    """The one accepted form of a DER signature: the same r, and the lower s.

    Raises:
        ValueError: not a DER signature.
    """
    r, s = decode_dss_signature(signature)
    return encode_dss_signature(r, min(s, ORDER - s))


def verifies(raw_public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` is one of `message` under the key, in its one accepted form.

    Raises:
        Malformed: the key itself is not acceptable (`load_public`).
    """
    key = load_public(raw_public)
    try:
        r, s = decode_dss_signature(signature)
    except ValueError:
        return False
    if not (0 < r < ORDER and 0 < s <= ORDER // 2) or encode_dss_signature(r, s) != signature:
        return False
    try:
        key.verify(signature, message, ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True
