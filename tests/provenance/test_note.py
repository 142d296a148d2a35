"""Signed notes and checkpoints against published examples, and against tampering."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.errors import Malformed
from pairmark.provenance import merkle
from pairmark.provenance.checkpoint import Checkpoint, Receipt, open_checkpoint, parse_receipt
from pairmark.provenance.ed25519 import load_public, public_bytes
from pairmark.provenance.note import NoteKey, parse_note, parse_vkey, sign_note, verified_by

# The example of Go's golang.org/x/mod/sumdb/note documentation.
SUMDB_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SUMDB_NOTE = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
).encode()

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = NoteKey("log.example/pairmark", public_bytes(PRIVATE))


def test_the_published_note_verifies_under_the_published_key() -> None:
    key = parse_vkey(SUMDB_VKEY)
    assert key.key_id.hex() == "c74f20a3"
    assert key.vkey() == SUMDB_VKEY
    assert verified_by(parse_note(SUMDB_NOTE), [key]) == (key,)


@given(st.integers(0, len(SUMDB_NOTE) - 1), st.integers(1, 255))
def test_no_changed_byte_of_a_note_verifies(place: int, change: int) -> None:
    changed = bytearray(SUMDB_NOTE)
    changed[place] ^= change
    try:
        held = verified_by(parse_note(bytes(changed)), [parse_vkey(SUMDB_VKEY)])
    except Malformed:
        return
    assert held == ()


def test_a_checkpoint_and_its_receipt_round_trip() -> None:
    leaves = [merkle.leaf_hash(bytes([n])) for n in range(5)]
    read = merkle.reader_of(leaves)
    head = Checkpoint(KEY.name, 5, merkle.root(read, 5))
    signed = head.signed(KEY, PRIVATE.sign)
    assert open_checkpoint(signed, KEY.name, (KEY,)) == head
    receipt = Receipt(3, tuple(merkle.inclusion_proof(read, 3, 5)), signed)
    assert parse_receipt(receipt.content()) == receipt
    assert receipt.leads_to(leaves[3], head)
    assert not receipt.leads_to(leaves[2], head)


def test_another_origin_or_an_untrusted_key_is_refused() -> None:
    signed = Checkpoint(KEY.name, 0, merkle.EMPTY_ROOT).signed(KEY, PRIVATE.sign)
    with pytest.raises(Malformed, match="wrong-origin"):
        open_checkpoint(signed, "other.example", (KEY,))
    with pytest.raises(Malformed, match="unsigned-checkpoint"):
        open_checkpoint(signed, KEY.name, (parse_vkey(SUMDB_VKEY),))


@pytest.mark.parametrize(
    "public",
    [bytes(32), b"\x01" + bytes(31), (2**255 - 20).to_bytes(32, "little"), (2**255 - 19).to_bytes(32, "little"),
     bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
     bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
     bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa")],
)
def test_small_order_and_non_canonical_keys_are_refused(public: bytes) -> None:
    with pytest.raises(Malformed, match="key"):
        load_public(public)


def test_a_note_without_newline_is_not_signed() -> None:
    with pytest.raises(ValueError, match="newline"):
        sign_note("text", KEY, PRIVATE.sign)


def test_the_refused_points_of_order_eight_are_of_order_eight() -> None:
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p

    def doubled(x: int, y: int) -> tuple[int, int]:
        k = d * x * x * y * y % p
        return 2 * x * y * pow(1 + k, -1, p) % p, (y * y + x * x) * pow(1 - k, -1, p) % p

    y = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
    square = (y * y - 1) * pow(d * y * y + 1, -1, p) % p
    x = pow(square, (p + 3) // 8, p)
    x = x if x * x % p == square else x * pow(2, (p - 1) // 4, p) % p
    assert x * x % p == square
    orders = [point := doubled(x, y), point := doubled(*point), doubled(*point)]
    assert [found == (0, 1) for found in orders] == [False, False, True]
