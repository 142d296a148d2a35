"""What is said where a key is not in its place: it is brought back, or the role gets another; a log never gets a new beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairmark.adapters.keys import init_keys, load_signers, read_chain, revoke, rotate
from pairmark.adapters.log.mark import MARK_FILE
from pairmark.domain.errors import Malformed
from pairmark.provenance.trust import ROLES, RoleName


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    init_keys(tmp_path / "keys", "log.example")
    return tmp_path / "keys"


def test_a_root_key_that_is_kept_elsewhere_is_to_be_brought_back(folder: Path) -> None:
    (folder / "root.pem").unlink()
    for act in (rotate, revoke):
        with pytest.raises(Malformed, match=r"bring root\.pem .*back from where it is kept") as said:
            act(folder, "certifier", 10)
        assert "init" not in str(said.value)
    with pytest.raises(Malformed, match=r"bring root\.pem"):
        load_signers(folder).of("root")
    with pytest.raises(Malformed, match=r"bring root\.pem"):
        load_signers(folder, roles=("root",))


@pytest.mark.parametrize("role", [role for role in ROLES if role != "root"])
def test_another_role_s_key_is_to_be_brought_back_or_replaced(folder: Path, role: RoleName) -> None:
    (folder / f"{role}.pem").unlink()
    with pytest.raises(Malformed, match=rf"bring {role}\.pem .*pairmark keys rotate {role}") as said:
        load_signers(folder)
    assert "init" not in str(said.value)
    rotate(folder, role, 3)
    load_signers(folder)


@pytest.mark.parametrize("left", [["certifier.pem"], ["revoker.uri"], [MARK_FILE]])
def test_a_trust_root_that_is_gone_from_beside_its_keys_is_to_be_brought_back(tmp_path: Path, left: list[str]) -> None:
    for name in left:
        (tmp_path / name).touch()
    with pytest.raises(Malformed, match=r"bring trust\.json back") as said:
        read_chain(tmp_path)
    assert "keys init" not in str(said.value)


def test_in_a_folder_without_keys_new_ones_are_offered_for_a_new_log(tmp_path: Path) -> None:
    (tmp_path / "root.next.pem").touch()
    with pytest.raises(Malformed, match="for a new log make keys with `pairmark keys init`"):
        read_chain(tmp_path)
