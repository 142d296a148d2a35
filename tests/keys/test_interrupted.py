"""A key ceremony that is refused or killed, wherever that happens: nothing is half done, and the same command given again ends it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pairmark.adapters.keys import init_keys, load_signers, read_chain, revoke, rotate
from pairmark.adapters.keys.signers import next_file
from pairmark.domain.errors import Conflict, Malformed
from pairmark.provenance.trust import ROLES, RoleName, TrustChain

ORIGIN = "log.example/pairmark"
TOUCHING = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"}
Ceremony = Callable[[Path], TrustChain]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    init_keys(tmp_path / "keys", ORIGIN)
    return tmp_path / "keys"


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def killed(act: Ceremony, folder: Path, moment: int) -> bool:
    """Whether a process of its own was killed at the `moment`-th time that it touched something in the folder."""
    child = os.fork()
    if child == 0:
        left = [moment]

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event in TOUCHING and any(str(folder) in str(each) for each in arguments):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(hook)
            act(folder)
            os._exit(0)
        finally:
            os._exit(1)
    _, ended = os.waitpid(child, 0)
    assert os.WIFSIGNALED(ended) or os.WEXITSTATUS(ended) == 0
    return os.WIFSIGNALED(ended)


def assert_whole(folder: Path, chain: TrustChain) -> None:
    """Every role signs, and nothing lies in the folder that should not."""
    signers = load_signers(folder, roles=ROLES)
    assert signers.chain.content() == chain.content()
    assert {path.name for path in folder.iterdir()} - {"retired"} == {"trust.json", *(f"{role}.pem" for role in ROLES)}


@pytest.mark.parametrize("act", [rotate, revoke])
@pytest.mark.parametrize("role", ["root", "certifier"])
def test_a_change_that_is_killed_anywhere_is_ended_by_giving_it_again(folder: Path, tmp_path: Path, act: Callable[..., TrustChain], role: RoleName) -> None:
    def ceremony(where: Path) -> TrustChain:
        return act(where, role, 10)

    for moment in range(1000):
        torn = tmp_path / f"torn-{moment}"
        shutil.copytree(folder, torn)
        if not killed(ceremony, torn, moment):
            break
        served = tmp_path / f"served-{moment}"
        shutil.copytree(torn, served)
        load_signers(served, roles=ROLES)
        waiting, before = next_file(torn, role).exists(), read_chain(torn).current.version
        chain = ceremony(torn)
        assert chain.current.version == (2 if waiting or before == 1 else 3), moment
        assert_whole(torn, chain)
        if chain.current.version == 2:
            assert {key.valid_from for key in chain.current.keys.values() if key.valid_until == key.valid_from} == set()
    assert moment > 10


def test_making_keys_that_is_killed_anywhere_is_ended_by_giving_it_again(tmp_path: Path) -> None:
    def ceremony(where: Path) -> TrustChain:
        return init_keys(where, ORIGIN)

    for moment in range(1000):
        torn = tmp_path / f"torn-{moment}"
        if not killed(ceremony, torn, moment):
            break
        there = (torn / "trust.json").exists()
        before = read_chain(torn).root_digest if there else None
        if there and not any(next_file(torn, role).exists() for role in ROLES):
            with pytest.raises(Conflict, match="keys-exist"):
                ceremony(torn)
            chain = read_chain(torn)
        else:
            chain = ceremony(torn)
        assert before in (None, chain.root_digest)
        assert_whole(torn, chain)
    assert moment > 20


def test_making_keys_of_another_log_does_not_end_one_that_was_interrupted(folder: Path) -> None:
    (folder / "log.pem").rename(next_file(folder, "log"))
    before = files(folder)
    with pytest.raises(Conflict, match="keys-exist"):
        init_keys(folder, "other.example")
    assert files(folder) == before
    assert init_keys(folder, ORIGIN).content() == before["trust.json"]


def test_a_failure_to_write_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pairmark.adapters.keys.ceremony._write", full)
    with pytest.raises(OSError, match="No space"):
        init_keys(tmp_path / "keys", ORIGIN)
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("act", [rotate, revoke])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("harm", ["exposed", "broken", "encrypted", "root exposed"])
def test_a_change_that_is_refused_changes_nothing(folder: Path, tmp_path: Path, act: Callable[..., TrustChain], role: RoleName, harm: str) -> None:
    key = folder / f"{'root' if harm == 'root exposed' else role}.pem"
    if harm == "broken":
        key.write_bytes(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    elif harm == "encrypted":
        init_keys(tmp_path / "others", ORIGIN, b"words")
        (tmp_path / "others" / key.name).replace(key)
    else:
        key.chmod(0o644)
    before = files(folder)
    with pytest.raises(Malformed, match=r"exposed-key|invalid-key|key-passphrase"):
        act(folder, role, 10)
    assert files(folder) == before
    assert not (folder / "retired").exists()


def test_after_the_key_is_put_right_the_change_is_the_second_version(folder: Path) -> None:
    (folder / "certifier.pem").chmod(0o644)
    with pytest.raises(Malformed, match="exposed-key"):
        rotate(folder, "certifier", 10)
    (folder / "certifier.pem").chmod(0o600)
    assert_whole(folder, rotate(folder, "certifier", 10))
    assert read_chain(folder).current.version == 2


def test_a_change_that_is_not_the_interrupted_one_is_made_after_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("pairmark.adapters.keys.signers._retire", stop)
        with pytest.raises(KeyboardInterrupt):
            rotate(folder, "certifier", 10)
    assert read_chain(folder).current.version == 2
    assert rotate(folder, "certifier", 12).current.version == 3
    assert rotate(folder, "log", 12).current.version == 4


@pytest.mark.parametrize("index", [-1, 2**53])
def test_an_index_that_no_log_has_is_named_as_the_option(folder: Path, index: int) -> None:
    for act in (rotate, revoke):
        with pytest.raises(Malformed, match="--from-index"):
            act(folder, "log", index)
    assert read_chain(folder).current.version == 1
