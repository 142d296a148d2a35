"""The lock files: exact, hashed, free of addresses, and in step with `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.project.sources import REPOSITORY

LOCKS = ("runtime", "dev", "all")
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)( ; .+?)?( \\)?$")


@cache
def project() -> dict[str, object]:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def declared(lock: str) -> list[Requirement]:
    """What `pyproject.toml` asks of a lock."""
    settings = project()
    assert isinstance(settings["project"], dict)
    assert isinstance(settings["dependency-groups"], dict)
    lines: list[str] = list(settings["project"]["dependencies"])
    if lock != "runtime":
        lines += settings["dependency-groups"]["dev"]
    if lock == "all":
        lines += [line for extra in settings["project"]["optional-dependencies"].values() for line in extra]
    return [Requirement(line) for line in lines]


def lines_of(lock: str) -> list[str]:
    text = (REPOSITORY / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip()]


def pins_of(lock: str) -> dict[str, set[Version]]:
    found: dict[str, set[Version]] = {}
    for line in lines_of(lock):
        if pin := PIN.match(line):
            found.setdefault(canonicalize_name(pin[1]), set()).add(Version(pin[2]))
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_pin_or_a_hash_and_every_pin_has_hashes(lock: str) -> None:
    lines = lines_of(lock)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if PIN.match(line):
            assert following.startswith("    --hash=sha256:"), f"{line} has no hash; run `make lock`"
        else:
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), f"neither a pin nor a hash: {line}"


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_an_address(lock: str) -> None:
    """Where packages come from is the business of the machine that installs them."""
    assert [line for line in lines_of(lock) if "://" in line or "index" in line or line.startswith("-")] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_what_the_project_asks_for_is_locked(lock: str) -> None:
    pins = pins_of(lock)
    for requirement in declared(lock):
        versions = pins.get(canonicalize_name(requirement.name))
        assert versions, f"{requirement.name} is not in {lock}.txt; run `make lock`"
        assert all(requirement.specifier.contains(version, prereleases=True) for version in versions), str(requirement)


def test_the_locks_contain_each_other() -> None:
    """One version of each package, whichever lock a machine was set up from."""
    runtime, dev, everything = (pins_of(lock) for lock in LOCKS)
    assert runtime.items() <= dev.items()
    assert dev.items() <= everything.items()


def test_both_groups_name_the_same_harness() -> None:
    settings = project()
    assert isinstance(settings["project"], dict)
    assert isinstance(settings["dependency-groups"], dict)
    assert settings["dependency-groups"]["harness"] == settings["project"]["optional-dependencies"]["agentdojo"]


def test_every_dependency_has_a_reason() -> None:
    text = (REPOSITORY / "docs" / "dependencies.md").read_text(encoding="utf-8")
    listed = {canonicalize_name(name) for name in re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE)}
    wanted = {canonicalize_name(requirement.name) for requirement in declared("all")}
    assert listed == wanted
