"""DSSE envelopes: the published encoding, thresholds, and bytes that must not vary."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Malformed
from pairmark.provenance import dsse
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.public_keys import key_id

ONE, TWO = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
KEYS = {key_id(public_bytes(key)): public_bytes(key) for key in (ONE, TWO)}
SIGNERS = [(public_bytes(key), key.sign) for key in (ONE, TWO)]


def test_the_encoding_is_that_of_the_protocol_s_own_example() -> None:
    # protocol.md: PAE of type "http://example.com/HelloWorld" and body "hello world"
    assert dsse.signed_bytes("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_two_keys_meet_a_threshold_of_two_and_one_does_not() -> None:
    both = dsse.sign(dsse.IN_TOTO, b"{}", SIGNERS)
    assert set(dsse.verify(both, dsse.IN_TOTO, KEYS, 2)) == set(KEYS)
    with pytest.raises(Malformed, match="threshold-not-met"):
        dsse.verify(dsse.sign(dsse.IN_TOTO, b"{}", SIGNERS[:1]), dsse.IN_TOTO, KEYS, 2)


def test_one_key_under_two_ids_never_meets_a_threshold_of_two() -> None:
    public, sign = SIGNERS[0]
    own, other = key_id(public), "0" * 64
    signature = sign(dsse.signed_bytes(dsse.IN_TOTO, b"{}"))
    twice = dsse.Envelope(dsse.IN_TOTO, b"{}", ((own, signature), (other, signature)))
    with pytest.raises(Malformed, match="wrong-key-id"):
        dsse.verify(twice, dsse.IN_TOTO, {own: public, other: public}, 2)
    again = dsse.Envelope(dsse.IN_TOTO, b"{}", ((own, signature), (own, signature)))
    with pytest.raises(Malformed, match="repeated-key"):
        dsse.verify(again, dsse.IN_TOTO, KEYS, 2)


@pytest.mark.parametrize("threshold", [0, -1])
def test_a_threshold_below_one_is_refused(threshold: int) -> None:
    with pytest.raises(Malformed, match="invalid-threshold"):
        dsse.verify(dsse.sign(dsse.IN_TOTO, b"{}", SIGNERS), dsse.IN_TOTO, KEYS, threshold)


def test_an_envelope_survives_its_own_bytes_and_no_reformatting() -> None:
    envelope = dsse.sign(dsse.IN_TOTO, b'{"a":1}', SIGNERS)
    assert dsse.parse_envelope(envelope.content()) == envelope
    with pytest.raises(Malformed, match="not-canonical"):
        dsse.parse_envelope(json.dumps(envelope.value(), indent=1).encode())
    with pytest.raises(Malformed, match="invalid-envelope"):
        dsse.parse_envelope(canonical_bytes({**envelope.value(), "extra": 1}))


@given(st.data())
def test_no_changed_byte_is_accepted(data: st.DataObject) -> None:
    content = dsse.sign(dsse.IN_TOTO, b'{"n":12345}', SIGNERS).content()
    changed = bytearray(content)
    changed[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Malformed):
        dsse.verify(dsse.parse_envelope(bytes(changed)), dsse.IN_TOTO, KEYS, 1)
