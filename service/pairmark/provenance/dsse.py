"""DSSE envelopes: the payload is kept and signed as bytes, never serialised again.

Stricter than the format: the envelope's bytes must be canonical (RFC 8785), base64 canonical, every signature must be by a
known key and hold, and a threshold counts distinct key material, so that one key under two ids never counts twice.
Source: github.com/secure-systems-lab/dsse, protocol.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, ValidationError

from pairmark.domain.documents.base import Strict
from pairmark.domain.errors import Malformed, shown
from pairmark.provenance.exact import exact_bytes, read_exact
from pairmark.provenance.note import decode_base64, encode_base64
from pairmark.provenance.public_keys import key_id, verifies

MAX_SIGNATURES = 100
IN_TOTO = "application/vnd.in-toto+json"
TRUST = "application/vnd.pairmark.trust+json"


class _Signature(Strict):
    keyid: str
    sig: str


class EnvelopeShape(Strict):
    """An envelope as JSON, base64 not decoded yet."""

    payload: str
    payloadType: str  # noqa: N815 - the format's own name
    signatures: Annotated[tuple[_Signature, ...], Field(min_length=1, max_length=MAX_SIGNATURES)]


@dataclass(frozen=True)
class Envelope:
    """`signatures` are (key id, signature bytes)."""

    payload_type: str
    payload: bytes
    signatures: tuple[tuple[str, bytes], ...]

    def value(self) -> dict[str, Any]:
        """The envelope as a JSON value."""
        return {
            "payload": encode_base64(self.payload),
            "payloadType": self.payload_type,
            "signatures": [{"keyid": keyid, "sig": encode_base64(sig)} for keyid, sig in self.signatures],
        }

    def content(self) -> bytes:
        """Its RFC 8785 bytes."""
        return exact_bytes(self.value())


def signed_bytes(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: what a signature is taken over."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def sign(payload_type: str, payload: bytes, signers: Sequence[tuple[bytes, Callable[[bytes], bytes]]]) -> Envelope:
    """An envelope with one signature per (public key, sign function), ordered by key id."""
    message = signed_bytes(payload_type, payload)
    return Envelope(payload_type, payload, tuple(sorted((key_id(public), sign(message)) for public, sign in signers)))


def parse_envelope(data: bytes, *, file: str | None = None) -> Envelope:
    """Read an envelope from its bytes.

    Raises:
        Malformed: bytes that are not canonical, unknown keys, base64 that is not canonical.
    """
    return envelope_of(read_exact(data, "an envelope", file=file), file=file)


def envelope_of(value: object, *, file: str | None = None, pointer: str = "") -> Envelope:
    """Read an envelope from a JSON value.

    Raises:
        Malformed: another shape.
    """
    try:
        found = EnvelopeShape.model_validate_json(exact_bytes(value))
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise Malformed(
            "invalid-envelope", f"expected a DSSE envelope: {first['msg']} at {first['loc']}", file, None, pointer, "fetch it again"
        ) from None
    return decoded(found)


def decoded(found: EnvelopeShape) -> Envelope:
    """The envelope with its bytes. Raises Malformed where base64 is not canonical."""
    return Envelope(
        found.payloadType, decode_base64(found.payload), tuple((item.keyid, decode_base64(item.sig)) for item in found.signatures)
    )


def verify(envelope: Envelope, payload_type: str, keys: Mapping[str, bytes], threshold: int) -> tuple[str, ...]:
    """Key ids that signed. `keys` maps key id to public bytes.

    Raises:
        Malformed: another payload type; a key whose id is not its own; a signature by an unknown key, repeated, or one
            that does not hold; fewer than `threshold` distinct keys; a threshold below 1.
    """
    remedy = "do not trust this document"
    if threshold < 1:
        raise Malformed("invalid-threshold", f"expected a threshold of at least 1, found {threshold}", remedy=remedy)
    if envelope.payload_type != payload_type:
        raise Malformed(
            "wrong-payload-type", f"expected {payload_type}, found {shown(envelope.payload_type)}", remedy=remedy
        )
    message = signed_bytes(envelope.payload_type, envelope.payload)
    material: set[bytes] = set()
    for keyid, signature in envelope.signatures:
        public = keys.get(keyid)
        if public is None:
            raise Malformed("unknown-key", f"expected signatures of trusted keys, found key {shown(keyid)}", remedy=remedy)
        if key_id(public) != keyid:
            raise Malformed("wrong-key-id", f"expected the key's own id, found {shown(keyid)}", remedy=remedy)
        if public in material:
            raise Malformed("repeated-key", f"expected each key to sign once, found {shown(keyid)} again", remedy=remedy)
        if not verifies(public, signature, message):
            raise Malformed("invalid-signature", f"expected a signature of {keyid} that holds, found one that does not", remedy=remedy)
        material.add(public)
    if len(material) < threshold:
        raise Malformed(
            "threshold-not-met", f"expected signatures of {threshold} distinct keys, found {len(material)}", remedy=remedy
        )
    return tuple(keyid for keyid, _ in envelope.signatures)
