"""Keys inside a token: the whole way through PKCS #11, on SoftHSM (Debian: softhsm2) where it is installed.

`PKCS11_MODULE` names another module to try, or else the usual places are looked at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from pairmark.adapters.keys import ExternalKey, Signers, init_keys, load_signers, read_chain, read_public, rotate
from pairmark.adapters.keys.external import PIN
from pairmark.domain.errors import Malformed
from pairmark.provenance.public_keys import key_type
from pairmark.provenance.trust import ROLES, RoleName
from pairmark.verify import verify_bundle
from tests.provenance.making import Log, announce, bundle_at, change, release, small_pair

PLACES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so", "/opt/homebrew/lib/softhsm/libsofthsm2.so")
MODULE = next((place for place in (os.environ.get("PKCS11_MODULE"), *PLACES) if place and Path(place).is_file()), None)
TOKEN, TOKEN_PIN = "pairmark-test", "1234"
NUMBERS: dict[RoleName, int] = {"root": 2, "certifier": 3, "revoker": 4}


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[RoleName, ExternalKey]]:
    """A token of its own with one P-256 key for each role that signs envelopes."""
    if MODULE is None or shutil.which("softhsm2-util") is None:
        pytest.skip("no PKCS #11 module found: install SoftHSM (Debian: softhsm2)")
    pkcs11: Any = pytest.importorskip("pkcs11")
    folder = tmp_path_factory.mktemp("token")
    (folder / "tokens").mkdir()
    (folder / "softhsm2.conf").write_text(f"directories.tokendir = {folder / 'tokens'}\nobjectstore.backend = file\nlog.level = ERROR\n")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("SOFTHSM2_CONF", str(folder / "softhsm2.conf"))
        here.setenv("PYKCS11LIB", MODULE)
        here.setenv(PIN, TOKEN_PIN)
        subprocess.run(
            ["softhsm2-util", "--init-token", "--free", "--label", TOKEN, "--pin", TOKEN_PIN, "--so-pin", "4321"], check=True, capture_output=True
        )
        yield {role: _made(pkcs11, number, folder / f"{role}.pem") for role, number in NUMBERS.items()}


def _made(pkcs11: Any, number: int, path: Path) -> ExternalKey:
    """A key made inside the token; its public half leaves it as a PEM file."""
    from pkcs11.util.ec import encode_ec_public_key, encode_named_curve_parameters

    with pkcs11.lib(MODULE).get_token(token_label=TOKEN).open(user_pin=TOKEN_PIN, rw=True) as session:
        curve = session.create_domain_parameters(
            pkcs11.KeyType.EC, {pkcs11.Attribute.EC_PARAMS: encode_named_curve_parameters("secp256r1")}, local=True
        )
        public, _ = curve.generate_keypair(store=True, id=bytes([number]), label=path.stem)
        key = load_der_public_key(encode_ec_public_key(public))
    assert isinstance(key, EllipticCurvePublicKey)
    path.write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return ExternalKey(f"hsm:{number}?label={TOKEN}", read_public(path))


def whole_story(signers: Signers, trust: bytes) -> tuple[int, int]:
    """Certify and revoke with these keys; what a stranger's verification then exits with, before and after."""
    log, pair = Log(key=signers.of("log"), origin=signers.chain.current.origin), small_pair()
    announce(log, pair)
    certifier, revoker = signers.of("certifier"), signers.of("revoker")
    data = bundle_at(log, release(log, pair, "c1", certifier), key=certifier)
    before = verify_bundle(data, trust=trust, root_digest=signers.chain.root_digest, log=log.export())
    change(log, ["c1"], key=revoker)
    after = verify_bundle(data, trust=trust, log=log.export())
    return before.exit_code, after.exit_code


def test_a_token_s_keys_issue_a_trust_root_certify_and_revoke(token: dict[RoleName, ExternalKey], tmp_path: Path) -> None:
    chain = init_keys(tmp_path / "keys", "log.example/pairmark", external=token)
    assert {path.name for path in (tmp_path / "keys").glob("*.pem")} == {"log.pem"}
    signers = load_signers(tmp_path / "keys", roles=ROLES)
    assert {role: key_type(signers.of(role).public) for role in ROLES} == {
        "root": "ecdsa", "certifier": "ecdsa", "revoker": "ecdsa", "log": "ed25519",
    }  # fmt: skip
    assert whole_story(signers, chain.content()) == (0, 4)


@pytest.mark.parametrize("role", NUMBERS)
def test_a_role_moves_into_a_token_and_out_again(token: dict[RoleName, ExternalKey], tmp_path: Path, role: RoleName) -> None:
    folder = tmp_path / "keys"
    init_keys(folder, "log.example/pairmark")
    rotate(folder, role, 0, external=token[role])
    signers = load_signers(folder, roles=ROLES)
    assert (signers.of(role).public, signers.chain.current.version) == (token[role].public, 2)
    assert whole_story(signers, signers.chain.content()) == (0, 4)
    assert rotate(folder, role, 9).current.version == 3
    assert key_type(load_signers(folder, roles=ROLES).of(role).public) == "ed25519"


def test_the_log_s_key_stays_ed25519(token: dict[RoleName, ExternalKey], tmp_path: Path) -> None:
    init_keys(tmp_path / "keys", "log.example/pairmark")
    with pytest.raises(Malformed, match="wrong-key-type"):
        rotate(tmp_path / "keys", "log", 1, external=token["certifier"])
    assert read_chain(tmp_path / "keys").current.version == 1


def test_without_its_pin_or_its_key_a_token_is_said_to_be_unusable(
    token: dict[RoleName, ExternalKey], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "keys"
    init_keys(folder, "log.example/pairmark")
    absent = ExternalKey(f"hsm:77?label={TOKEN}", token["certifier"].public)
    swapped = ExternalKey(token["revoker"].uri, token["certifier"].public)
    elsewhere = ExternalKey("hsm:3?label=another-token", token["certifier"].public)
    for wrong, code in ((absent, "unusable-key"), (elsewhere, "unusable-key"), (swapped, "wrong-key")):
        with pytest.raises(Malformed, match=code):
            rotate(folder, "certifier", 1, external=wrong)
    monkeypatch.setenv(PIN, "9999")
    with pytest.raises(Malformed, match="unusable-key"):
        rotate(folder, "certifier", 1, external=token["certifier"])
    monkeypatch.delenv(PIN)
    with pytest.raises(Malformed, match=PIN):
        rotate(folder, "certifier", 1, external=token["certifier"])
    assert read_chain(folder).current.version == 1
