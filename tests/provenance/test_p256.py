"""ECDSA keys of signed statements: published vectors, one form for each key and signature, and every threshold rule again."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.domain.errors import Malformed
from pairmark.provenance import dsse, p256
from pairmark.provenance.public_keys import key_id, key_type, require_sound
from pairmark.provenance.trust import verify_chain
from tests.provenance.making import KEYS, key_of, p256_key_of, root_value, signed_root, signing_of, trusted
from tests.provenance.making import key_id as id_of

KEY, OTHER, STRONG = p256_key_of(7), p256_key_of(8), key_of(9)
PUBLIC, SIGN = signing_of(KEY)
TRUSTED = {id_of(key): signing_of(key)[0] for key in (KEY, OTHER, STRONG)}
MESSAGE = b"what is signed"


def fips_cases() -> Iterator[tuple[bytes, bytes, bytes, bool]]:
    """Public key, signature, message and whether it holds: NIST CAVP 186-3 SigVer for P-256 with SHA-256, from `cryptography-vectors`."""
    vectors = pytest.importorskip("cryptography_vectors")
    with vectors.open_vector_file("asymmetric/ECDSA/FIPS_186-3/SigVer.rsp", "r") as stream:
        text = stream.read()
    section = text.split("[P-256,SHA-256]")[1].split("\n[")[0]
    for found in re.finditer(r"Msg = (\w+)\s+Qx = (\w+)\s+Qy = (\w+)\s+R = (\w+)\s+S = (\w+)\s+Result = (\w)", section):
        message, x, y, r, s, result = found.groups()
        public = b"\x04" + bytes.fromhex(x.rjust(64, "0")) + bytes.fromhex(y.rjust(64, "0"))
        yield public, encode_dss_signature(int(r, 16), int(s, 16)), bytes.fromhex(message), result == "P"


def test_the_published_verification_cases_come_out_as_published() -> None:
    cases = list(fips_cases())
    assert len(cases) == 15
    for public, signature, message, holds in cases:
        assert p256.verifies(public, p256.canonical_signature(signature), message) is holds
    assert {holds for *_, holds in cases} == {True, False}


@pytest.mark.skipif(importlib.util.find_spec("securesystemslib") is None, reason="securesystemslib is not installed")
@pytest.mark.parametrize("key", [KEY, STRONG])
def test_a_key_has_the_id_that_securesystemslib_gives_it(key: object) -> None:
    signer = importlib.import_module("securesystemslib.signer")
    assert signer.SSlibKey.from_crypto(key.public_key()).keyid == id_of(key)  # type: ignore[attr-defined,arg-type]  # either kind has it


def test_the_other_signature_that_ecdsa_allows_is_refused() -> None:
    r, s = decode_dss_signature(SIGN(MESSAGE))
    other = encode_dss_signature(r, p256.ORDER - s)
    assert p256.verifies(PUBLIC, SIGN(MESSAGE), MESSAGE)
    assert not p256.verifies(PUBLIC, other, MESSAGE)
    assert p256.canonical_signature(other) == SIGN(MESSAGE)


@pytest.mark.parametrize(("r", "s"), [(0, 1), (1, 0), (0, 0), (p256.ORDER, 1), (1, p256.ORDER), (p256.ORDER + 1, 1), (-1, 1), (1, -1)])
def test_values_out_of_range_are_no_signature(r: int, s: int) -> None:
    assert not p256.verifies(PUBLIC, _der(r, s), MESSAGE)


def _der(*values: int) -> bytes:
    parts = [value.to_bytes(33, "big", signed=True).lstrip(b"\0" if value >= 0 else b"") or b"\0" for value in values]
    body = b"".join(b"\x02" + bytes([len(part)]) + part for part in parts)
    return b"\x30" + bytes([len(body)]) + body


def test_a_signature_in_another_encoding_is_refused() -> None:
    signature = SIGN(MESSAGE)
    r, s = decode_dss_signature(signature)
    raw = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    padded = b"\x30" + bytes([signature[1] + 1]) + b"\x02" + bytes([signature[3] + 1]) + b"\x00" + signature[4:]
    long_form = b"\x30\x81" + signature[1:]
    for other in (raw, padded, long_form, signature + b"\0", signature[:-1], b""):
        assert not p256.verifies(PUBLIC, other, MESSAGE)


@settings(max_examples=300)
@given(st.data())
def test_no_changed_byte_of_a_signature_verifies(data: st.DataObject) -> None:
    signature = bytearray(SIGN(MESSAGE))
    signature[data.draw(st.integers(0, len(signature) - 1))] ^= data.draw(st.integers(1, 255))
    assert not p256.verifies(PUBLIC, bytes(signature), MESSAGE)


def test_a_key_is_its_uncompressed_point_and_nothing_else() -> None:
    compressed = KEY.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    hybrid = bytes([6 + (PUBLIC[-1] & 1)]) + PUBLIC[1:]
    off_curve = PUBLIC[:-1] + bytes([PUBLIC[-1] ^ 1])
    for other in (compressed, hybrid, off_curve, b"\0", b"\x04" + bytes(64), PUBLIC + b"\0"):
        with pytest.raises(Malformed, match="invalid-key"):
            require_sound(other)
    with pytest.raises(Malformed, match="P-256"):
        p256.public_bytes(generate_private_key(SECP384R1()).public_key())
    assert key_type(PUBLIC) == "ecdsa"


# --- envelopes and trust roots with both kinds --------------------------------------------------------------------------------


def test_both_kinds_of_keys_count_toward_one_threshold() -> None:
    envelope = dsse.sign(dsse.IN_TOTO, b"{}", [signing_of(KEY), signing_of(STRONG)])
    assert set(dsse.verify(envelope, dsse.IN_TOTO, TRUSTED, 2)) == {id_of(KEY), id_of(STRONG)}
    with pytest.raises(Malformed, match="threshold-not-met"):
        dsse.verify(envelope, dsse.IN_TOTO, TRUSTED, 3)


def test_one_key_under_two_ids_or_twice_with_two_signatures_never_counts_twice() -> None:
    message = dsse.signed_bytes(dsse.IN_TOTO, b"{}")
    first = SIGN(message)
    r, s = decode_dss_signature(first)
    second = encode_dss_signature(r, p256.ORDER - s)
    own, other = key_id(PUBLIC), "0" * 64
    for signatures, keys, words in (
        (((own, first), (other, first)), {own: PUBLIC, other: PUBLIC}, "wrong-key-id"),
        (((own, first), (own, first)), {own: PUBLIC}, "repeated-key"),
        (((own, second),), {own: PUBLIC}, "invalid-signature"),
    ):
        with pytest.raises(Malformed, match=words):
            dsse.verify(dsse.Envelope(dsse.IN_TOTO, b"{}", signatures), dsse.IN_TOTO, keys, len(signatures))


@settings(max_examples=150)
@given(st.data())
def test_no_changed_byte_of_an_envelope_is_accepted(data: st.DataObject) -> None:
    content = dsse.sign(dsse.IN_TOTO, b'{"n":12345}', [signing_of(KEY)]).content()
    changed = bytearray(content)
    changed[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Malformed):
        dsse.verify(dsse.parse_envelope(bytes(changed)), dsse.IN_TOTO, TRUSTED, 1)


def root_with(role: str, key: object, **changes: object) -> dict[str, object]:
    value = root_value()
    value["keys"][id_of(key)] = {**trusted(key), **changes}  # type: ignore[arg-type]  # either kind
    value["roles"][role]["keyids"] = [id_of(key)]  # type: ignore[arg-type]
    return value


@pytest.mark.parametrize("role", ["root", "certifier", "revoker"])
def test_a_role_that_signs_envelopes_may_have_such_a_key(role: str) -> None:
    signer = KEY if role == "root" else KEYS["root"]
    chain = verify_chain((signed_root(root_with(role, KEY), signer),))
    assert chain.current.keys_of(role) == {id_of(KEY): PUBLIC}  # type: ignore[arg-type]  # a role's name


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (root_with("log", KEY), "Ed25519 keys for role log"),
        (root_with("certifier", KEY, keytype="ed25519"), "type and scheme"),
        (root_with("certifier", KEY, scheme="ed25519"), "type and scheme"),
        (root_with("certifier", STRONG, keytype="ecdsa", scheme="ecdsa-sha2-nistp256"), "type and scheme"),
        (root_with("certifier", KEY, public=PUBLIC[:-1].hex() + f"{PUBLIC[-1] ^ 1:02x}"), "can be relied on"),
        (root_with("certifier", KEY, public="02" + PUBLIC[1:33].hex()), "public"),
        (root_with("certifier", KEY, public=PUBLIC.hex().upper()), "public"),
    ],
)
def test_a_trust_root_with_such_a_key_in_the_wrong_place_or_form_is_refused(value: dict[str, object], words: str) -> None:
    with pytest.raises(Malformed, match=words):
        verify_chain((signed_root(value),))


def test_the_public_half_is_not_free_to_choose_under_an_id() -> None:
    value = root_with("certifier", KEY)
    value["keys"][id_of(KEY)] = trusted(OTHER)  # type: ignore[index]  # the trust root's keys
    with pytest.raises(Malformed, match="under its own id"):
        verify_chain((signed_root(value),))
