"""Key files and the folder of keys: permissions, passphrases, rotation and its interruptions."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from pairmark.adapters.keys import init_keys, load_signers, read_chain, revoke, rotate
from pairmark.adapters.keys.ceremony import _replace
from pairmark.adapters.keys.signers import next_file
from pairmark.domain.errors import Conflict, Malformed
from pairmark.provenance.dsse import IN_TOTO, verify
from pairmark.provenance.trust import ROLES, RoleName

ORIGIN = "log.example/pairmark"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    init_keys(tmp_path / "keys", ORIGIN)
    return tmp_path / "keys"


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*.pem")}


def test_new_keys_are_for_their_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        init_keys(tmp_path / "keys", ORIGIN)
    finally:
        os.umask(before)
    assert modes(tmp_path / "keys") == {0o600}
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert {path.stem for path in (tmp_path / "keys").glob("*.pem")} == set(ROLES)


def test_what_a_role_signs_verifies_under_the_trust_root(folder: Path) -> None:
    signers = load_signers(folder)
    envelope = signers.envelope("certifier", b"{}")
    assert verify(envelope, IN_TOTO, signers.chain.current.keys_of("certifier", 0), 1) == (signers.of("certifier").key_id,)


def test_the_root_key_may_be_kept_elsewhere(folder: Path) -> None:
    (folder / "root.pem").unlink()
    signers = load_signers(folder)
    with pytest.raises(Malformed, match="no-key"):
        signers.of("root")


def test_keys_are_not_made_over_others(folder: Path) -> None:
    with pytest.raises(Conflict, match="keys-exist"):
        init_keys(folder, ORIGIN)


@pytest.mark.parametrize("origin", ["", "two words", "a+b", "line\nbreak"])
def test_an_origin_that_no_note_can_carry_is_refused_before_anything_is_written(tmp_path: Path, origin: str) -> None:
    with pytest.raises(Malformed):
        init_keys(tmp_path / "keys", origin)
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620, 0o610])
def test_a_key_that_others_can_touch_is_refused(folder: Path, mode: int) -> None:
    (folder / "log.pem").chmod(mode)
    with pytest.raises(Malformed, match="exposed-key"):
        load_signers(folder)


def test_a_passphrase_encrypts_and_is_needed(tmp_path: Path) -> None:
    init_keys(tmp_path, ORIGIN, b"correct horse")
    assert b"ENCRYPTED" in (tmp_path / "root.pem").read_bytes()
    load_signers(tmp_path, b"correct horse")
    for wrong in (None, b"another"):
        with pytest.raises(Malformed, match=r"passphrase|PASSPHRASE"):
            load_signers(tmp_path, wrong)


def test_a_passphrase_on_a_plain_key_is_said_not_ignored(folder: Path) -> None:
    with pytest.raises(Malformed, match="key-passphrase"):
        load_signers(folder, b"secret")


def test_another_kind_of_key_is_refused(folder: Path) -> None:
    rsa = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for content in (rsa, b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):
        (folder / "log.pem").write_bytes(content)
        with pytest.raises(Malformed, match="invalid-key"):
            load_signers(folder)


def test_a_key_of_another_folder_is_not_trusted_here(folder: Path, tmp_path: Path) -> None:
    init_keys(tmp_path / "others", ORIGIN)
    (tmp_path / "others" / "certifier.pem").replace(folder / "certifier.pem")
    with pytest.raises(Malformed, match="untrusted-key"):
        load_signers(folder)


def test_a_chain_that_is_not_the_pinned_one_is_refused(folder: Path) -> None:
    with pytest.raises(Malformed, match="wrong-root"):
        load_signers(folder, pinned="sha256:" + "0" * 64)


@pytest.mark.parametrize("role", ROLES)
def test_rotation_gives_a_new_key_and_keeps_what_the_old_one_signed(folder: Path, role: RoleName) -> None:
    old = load_signers(folder, roles=ROLES).of(role)
    digest = read_chain(folder).root_digest
    chain = rotate(folder, role, 7)
    new = load_signers(folder, roles=ROLES, pinned=digest).of(role)
    assert (chain.current.version, new.key_id != old.key_id) == (2, True)
    if role == "root":
        assert set(chain.current.keys_of("root")) == {new.key_id}
    else:
        assert [set(chain.current.keys_of(role, index)) for index in (6, 7)] == [{old.key_id}, {new.key_id}]
    assert len(list((folder / "retired").glob(f"{role}-*.pem"))) == 1
    assert modes(folder) == {0o600}


def test_every_role_can_be_rotated_in_turn_and_again(folder: Path) -> None:
    for version, role in enumerate([*ROLES, *ROLES], 2):
        assert rotate(folder, role, version).current.version == version
    load_signers(folder, roles=ROLES)


def test_revocation_reaches_back_and_over_every_key_of_the_role(folder: Path) -> None:
    rotate(folder, "certifier", 10)
    chain = revoke(folder, "certifier", 4)
    new = load_signers(folder).of("certifier").key_id
    assert [new in chain.current.keys_of("certifier", index) for index in (3, 4, 12)] == [False, True, True]
    assert [len(chain.current.keys_of("certifier", index)) for index in (3, 4, 12)] == [1, 1, 1]


def test_a_rotation_does_not_reach_back(folder: Path) -> None:
    rotate(folder, "certifier", 10)
    with pytest.raises(Malformed, match="too-early"):
        rotate(folder, "certifier", 4)


def test_rotation_needs_the_root_key(folder: Path) -> None:
    (folder / "root.pem").unlink()
    with pytest.raises(Malformed, match="unreadable-key"):
        rotate(folder, "log", 3)
    assert read_chain(folder).current.version == 1


@pytest.mark.parametrize("step", ["_write", "finish_rotation"])
@pytest.mark.parametrize("role", ROLES)
def test_an_interrupted_rotation_is_finished_or_forgotten(
    folder: Path, role: RoleName, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    chain = read_chain(folder)
    with monkeypatch.context() as broken:
        broken.setattr(f"pairmark.adapters.keys.ceremony.{step}", stop)
        with pytest.raises(KeyboardInterrupt):
            _replace(folder, chain, role, 5, None)
    assert next_file(folder, role).exists()
    signers = load_signers(folder, roles=ROLES)
    assert signers.chain.current.version == (1 if step == "_write" else 2)
    assert not next_file(folder, role).exists()
    rotate(folder, role, 6)
    load_signers(folder, roles=ROLES)


def test_no_key_no_trust_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="pairmark keys init"):
        load_signers(tmp_path)
