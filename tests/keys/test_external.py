"""Keys that a URI names: with securesystemslib where it is installed, and said plainly where it is not."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from pairmark.adapters.keys import ExternalKey, init_keys, load_signers, read_chain, rotate
from pairmark.adapters.keys.external import read_external
from pairmark.domain.errors import Malformed
from pairmark.provenance import p256
from pairmark.provenance.dsse import IN_TOTO, verify
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.trust import ROLES, RoleName

installed = pytest.mark.skipif(importlib.util.find_spec("securesystemslib") is None, reason="securesystemslib is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    init_keys(tmp_path / "keys", "log.example/pairmark")
    return tmp_path / "keys"


@pytest.fixture
def elsewhere(tmp_path: Path) -> ExternalKey:
    """A key that securesystemslib reads by itself."""
    key = Ed25519PrivateKey.generate()
    path = tmp_path / "elsewhere.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return ExternalKey(f"file2:{path}", public_bytes(key))


@installed
@pytest.mark.parametrize("role", ROLES)
def test_a_role_moves_to_a_key_elsewhere_and_back(folder: Path, elsewhere: ExternalKey, role: RoleName) -> None:
    rotate(folder, role, 1, external=elsewhere)
    assert not (folder / f"{role}.pem").exists()
    signers = load_signers(folder, roles=ROLES)
    assert signers.of(role).public == elsewhere.public
    if role == "certifier":
        verify(signers.envelope(role, b"{}"), IN_TOTO, signers.chain.current.keys_of(role, 1), 1)
    rotate(folder, role, 2)
    assert not (folder / f"{role}.uri").exists()
    assert load_signers(folder, roles=ROLES).of(role).public != elsewhere.public


@installed
@pytest.mark.parametrize("role", ["root", "certifier", "revoker"])
def test_a_p256_key_elsewhere_signs_envelopes_and_no_checkpoints(folder: Path, tmp_path: Path, role: RoleName) -> None:
    key, path = generate_private_key(SECP256R1()), tmp_path / "p256.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    named = ExternalKey(f"file2:{path}", p256.public_bytes(key.public_key()))
    rotate(folder, role, 1, external=named)
    signers = load_signers(folder, roles=ROLES)
    for number in range(20):  # half of what the key signs has the higher s
        envelope = signers.envelope(role, b'{"n":%d}' % number)
        verify(envelope, IN_TOTO, signers.chain.current.keys_of(role, 1), 1)
    with pytest.raises(Malformed, match="wrong-key-type"):
        rotate(folder, "log", 1, external=named)
    assert signers.chain.current.version == read_chain(folder).current.version == 2


@installed
def test_a_key_with_another_public_half_is_found_before_it_is_trusted(folder: Path, elsewhere: ExternalKey) -> None:
    lie = ExternalKey(elsewhere.uri, public_bytes(Ed25519PrivateKey.generate()))
    for wrong in (lie, ExternalKey("file2:nowhere.pem", elsewhere.public), ExternalKey("unheard:of", elsewhere.public)):
        with pytest.raises(Malformed, match=r"wrong-key|unusable-key"):
            rotate(folder, "certifier", 1, external=wrong)
    assert read_chain(folder).current.version == 1
    load_signers(folder)


@pytest.mark.skipif(importlib.util.find_spec("securesystemslib") is not None, reason="securesystemslib is installed")
def test_without_the_package_it_is_said(folder: Path, elsewhere: ExternalKey) -> None:
    with pytest.raises(Malformed, match="no-securesystemslib"):
        rotate(folder, "certifier", 1, external=elsewhere)
    assert read_chain(folder).current.version == 1


def test_the_file_that_names_a_key_is_read_strictly(tmp_path: Path, elsewhere: ExternalKey) -> None:
    path = tmp_path / "certifier.uri"
    path.write_bytes(elsewhere.content())
    assert read_external(path) == elsewhere
    for content in (b"", b"{}", elsewhere.content().replace(b"public", b"Public"), b'{"uri":"a:b","public":"00"}'):
        path.write_bytes(content)
        with pytest.raises(Malformed):
            read_external(path)
