"""`pairmark keys`: where a new key's window begins when nobody says so, and keys that are not files here."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import subprocess
import termios
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from pairmark.adapters.keys import load_signers, read_chain
from pairmark.adapters.log.mark import MARK_FILE
from pairmark.domain.world import World
from pairmark.provenance import p256
from tests.cli.running import COMMAND, ENVIRONMENT, Here, command, is_one_line
from tests.service.serving import Service, listening


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    for name in ("PAIRMARK_KEYS", "PAIRMARK_DATA_DIR", "PAIRMARK_DATABASE_URL", "PAIRMARK_KEY_PASSPHRASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return Here(capfdbinary)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a service that released something and was stopped."""
    data = tmp_path_factory.mktemp("keys") / "data"
    service = Service.at(data)
    service.certify(service.submit(World()))
    service.app.state.services.database.close()
    return data


def entries_of(url_or_data: str | Path, here: Here, *, where: str) -> int:
    here("log", "export", "-o", "log.jsonl", where, url_or_data)
    return len(Path("log.jsonl").read_bytes().splitlines()) - 1


def test_the_window_begins_where_the_stopped_service_s_log_ends(here: Here, folder: Path) -> None:
    size = entries_of(folder, here, where="--data")
    done = here("keys", "rotate", "certifier", "--data", folder)
    assert (done.code, done.err) == (0, "")
    assert f"from log index {size} on" in done.out
    key = load_signers(folder / "keys").of("certifier").key_id
    assert read_chain(folder / "keys").current.keys[key].valid_from == size
    again = Service.at(folder)
    released = again.certify(again.submit(World().set("attacked", 1, duration_ms=5)))
    assert released.json()["certificate"] is not None
    again.app.state.services.database.close()


def test_a_service_can_be_asked_instead(here: Here, folder: Path) -> None:
    with listening(folder) as url:
        size = entries_of(url, here, where="--service")
        done = here("keys", "rotate", "revoker", "--keys", folder / "keys", "--service", url)
    assert (done.code, f"from log index {size} on" in done.out) == (0, True)


def test_a_revocation_without_an_index_says_what_it_leaves_trusted(here: Here, folder: Path) -> None:
    done = here("keys", "revoke", "revoker", "--data", folder)
    assert done.code == 0
    assert "keep their trust" in done.out
    assert "keep their trust" not in here("keys", "revoke", "revoker", "--data", folder, "--from-index", "2").out


def test_without_a_log_at_hand_the_index_has_to_be_given(here: Here) -> None:
    assert here("keys", "init", "--origin", "log.example", "--keys", "keys").code == 0
    done = here("keys", "rotate", "log", "--keys", "keys")
    assert (done.code, "--from-index" in done.err) == (2, True)
    assert read_chain("keys").current.version == 1
    assert here("keys", "rotate", "log", "--keys", "keys", "--from-index", "0").code == 0


def test_the_database_of_another_log_says_nothing_about_this_one(here: Here, folder: Path, tmp_path: Path) -> None:
    here("keys", "init", "--origin", "other.example", "--keys", "keys")
    done = here("keys", "rotate", "log", "--keys", "keys", "--data", folder)
    assert done.code != 0, "its checkpoints have no mark beside these keys"
    (tmp_path / "keys" / MARK_FILE).write_bytes((folder / "keys" / MARK_FILE).read_bytes())
    assert here("keys", "rotate", "log", "--keys", "keys", "--data", folder).code != 0
    assert read_chain("keys").current.version == 1


def test_keys_elsewhere_are_named_by_a_file_or_by_hex(here: Here, tmp_path: Path) -> None:
    pytest.importorskip("securesystemslib")
    key = generate_private_key(SECP256R1())
    (tmp_path / "private.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "public.pem").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    uri, number = f"file2:{tmp_path / 'private.pem'}", p256.public_bytes(key.public_key()).hex()
    made = here("keys", "init", "--origin", "log.example", "--keys", "keys", "--elsewhere", f"root={uri}=public.pem", "--elsewhere", f"revoker={uri}={number}")
    assert (made.code, made.err) == (0, "")
    assert read_chain("keys").current.keys_of("root").keys() == read_chain("keys").current.keys_of("revoker").keys()
    assert here("keys", "rotate", "certifier", "--keys", "keys", "--from-index", "0").code == 0
    assert "certifier" in here("keys", "show", "--keys", "keys").out
    refused = here("keys", "rotate", "log", "--keys", "keys", "--from-index", "0", "--uri", uri, "--public", number)
    assert (refused.code, "Ed25519" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [("--uri", "hsm:2"), ("--public", "00"), ("--uri", "hsm:2", "--public", "nowhere.pem"), ("--uri", "hsm:2", "--public", "00" * 31),
     ("--uri", "hsm:2", "--public", "p384.pem"), ("--uri", "hsm:2", "--public", "04" + "00" * 64)],
)
def test_a_key_that_cannot_be_one_is_refused_before_anything_changes(here: Here, tmp_path: Path, words: tuple[str, ...]) -> None:
    here("keys", "init", "--origin", "log.example", "--keys", "keys")
    other = generate_private_key(SECP384R1()).public_key()
    (tmp_path / "p384.pem").write_bytes(other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    done = here("keys", "rotate", "certifier", "--keys", "keys", "--from-index", "1", *words)
    assert (done.code, read_chain("keys").current.version) == (2, 1)


@pytest.mark.parametrize("text", ["root", "root=hsm:2", "nobody=hsm:2=00", "root==00", "root=hsm:2="])
def test_a_key_elsewhere_that_is_half_named_is_refused(here: Here, text: str) -> None:
    done = here("keys", "init", "--origin", "log.example", "--keys", "keys", "--elsewhere", text)
    assert (done.code, "ROLE=URI" in done.err) == (2, True)
    assert not Path("keys", "trust.json").exists()


@pytest.mark.parametrize("origin", ["a b", "a+b", "", "line\nbreak", "x" * 1025])
def test_an_origin_that_cannot_be_one_is_named_as_the_option(here: Here, origin: str) -> None:
    done = here("keys", "init", "--origin", origin, "--keys", "keys")
    assert (done.code, done.out, is_one_line(done.err)) == (2, "", True)
    assert "--origin" in done.err
    assert "schema" not in done.err
    assert not Path("keys").exists()


def test_a_window_s_end_and_the_signatures_needed_are_shown(here: Here) -> None:
    here("keys", "init", "--origin", "log.example", "--keys", "keys")
    here("keys", "rotate", "certifier", "--keys", "keys", "--from-index", "10")
    here("keys", "rotate", "log", "--keys", "keys", "--from-index", "0")
    shown = [line for line in here("keys", "show", "--keys", "keys").out.splitlines() if line.startswith(("certifier", "log "))]
    assert [line.split(maxsplit=3)[1::2] for line in shown] == [
        ["1", "0–9, none later"], ["1", "10 and later"], ["1", "none any more"], ["1", "0 and later"],
    ]  # fmt: skip


@pytest.mark.parametrize("role", ["root", "certifier"])
def test_a_revocation_names_the_key_that_is_revoked(here: Here, role: str) -> None:
    here("keys", "init", "--origin", "log.example", "--keys", "keys")
    old = load_signers("keys", roles=(role,)).of(role).key_id  # type: ignore[arg-type]  # a literal
    done = here("keys", "revoke", role, "--keys", "keys", "--from-index", "4")
    assert (done.code, f"key {old} of role {role} is revoked" in done.out) == (0, True)
    assert "revoked" not in here("keys", "rotate", role, "--keys", "keys", "--from-index", "4").out


@pytest.mark.parametrize(("typed", "expected"), [(b"", 2), (b"only once\n", 2), (b"one\ntwo\n", 2), (b"\n\n", 2), (b"words\nwords\n", 0), (b"\xff\n\xff\n", 0)])
def test_a_passphrase_that_nobody_gives_is_one_line_and_leaves_nothing(tmp_path: Path, typed: bytes, expected: int) -> None:
    done = command("keys", "init", "--origin", "log.example", "--keys", tmp_path / "keys", "--prompt", input_=typed)
    assert (done.code, (tmp_path / "keys").exists()) == (expected, expected == 0)
    if expected:
        assert is_one_line(done.err)
        assert "no-passphrase" in done.err
    else:
        load_signers(tmp_path / "keys", typed.splitlines()[0])
        again = command("keys", "rotate", "log", "--from-index", "1", "--keys", tmp_path / "keys", "--prompt", input_=typed)
        assert again.code == 0


@pytest.mark.parametrize(("key", "code"), [(b"\x04", 2), (b"\x03", 130)])
def test_ctrl_d_and_ctrl_c_at_the_question_end_it(tmp_path: Path, key: bytes, code: int) -> None:
    leader, follower = pty.openpty()
    arguments = [*COMMAND, "keys", "init", "--origin", "log.example", "--keys", str(tmp_path / "keys"), "--prompt"]
    with subprocess.Popen(arguments, stdin=follower, stdout=follower, stderr=follower, env=ENVIRONMENT, start_new_session=True,
                          preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) as running:  # noqa: PLW1509 - a terminal of its own
        os.close(follower)
        said = b""
        while b"Passphrase: " not in said:  # what is typed before the question is whole is thrown away
            said += os.read(leader, 4096)
        os.write(leader, key)
        with contextlib.suppress(OSError):
            while True:
                said += os.read(leader, 4096)
        assert running.wait(60) == code
    os.close(leader)
    assert b"bug" not in said
    assert not (tmp_path / "keys").exists()
