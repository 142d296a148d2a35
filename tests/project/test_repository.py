"""What is in the repository besides code: addresses that must not be there, documents that must agree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

import pairmark
from pairmark.cli import exit_codes
from pairmark.cli.main import app as pairmark_app
from tests.project.sources import REPOSITORY, tracked_files, tracked_texts

# In parts, so that this file does not name what it looks for.
_PARTS = (("pypi", "org"), ("pythonhosted", "org"), ("registry", "npmjs"), ("crates", "io"), ("deb", "debian", "org"))
REGISTRY_HOSTS = tuple(".".join(parts) for parts in _PARTS)
HOMES = re.compile(r"(?<![\w.])/(?:home|Users|root)/\w")


def targets() -> set[str]:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))


def markdown() -> list[Path]:
    return [path for path in tracked_files() if path.suffix == ".md"]


def test_no_file_names_a_package_registry() -> None:
    named = [name for name, text in tracked_texts() if any(host in text for host in REGISTRY_HOSTS)]
    assert named == []


def test_no_file_names_a_path_of_the_machine_it_was_made_on() -> None:
    here = [str(path) for path in (REPOSITORY, Path.home()) if len(path.parts) > 2]
    own = re.compile("|".join([*(rf"(?<![\w.]){re.escape(path)}\b" for path in here), r"(?!)"]))
    named = {name: found[0] for name, text in tracked_texts() if (found := own.search(text) or HOMES.search(text))}
    assert named == {}


def test_no_two_tracked_files_are_the_same() -> None:
    """Empty markers apart; run bundles of examples may well hold equal ledgers."""
    seen: dict[bytes, str] = {}
    repeated = []
    for path in tracked_files():
        name = path.relative_to(REPOSITORY).as_posix()
        data = path.read_bytes()
        if len(data) < 200 or name.startswith(("manifests/", "schemas/examples/", "tests/verify/corpus-kinds/")):
            continue
        if data in seen:
            repeated.append((seen[data], name))
        seen[data] = name
    assert repeated == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_make_commands_in_documents_exist(name: str) -> None:
    used = set(re.findall(r"(?:^ {4}|`|^)make ([a-z][a-z-]*)", (REPOSITORY / name).read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert used
    assert used <= targets()


def test_every_target_is_documented_and_phony() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"^\.PHONY: ([a-z-]+)$", makefile, flags=re.MULTILINE)) == targets()
    assert all(re.search(rf"^{target}:.*## \S", makefile, flags=re.MULTILINE) for target in targets())


def test_the_readme_opens_with_its_two_commands() -> None:
    commands = re.findall(r"^ {4}(make \S+)", (REPOSITORY / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert commands[:2] == ["make demo", "make test"]


def test_pairmark_commands_in_the_readme_exist_with_their_options() -> None:
    app = typer.main.get_command(pairmark_app)
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^ {4}pairmark (.+)$", text, flags=re.MULTILINE) + re.findall(r"`pairmark ([^`]+)`", text)
    assert len(lines) > 10
    for line in lines:
        words = line.split()
        command = app
        while words and isinstance(command, TyperGroup) and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        known = {name for parameter in command.params for name in parameter.opts}
        assert command is not app, line
        assert {word for word in words if word.startswith("-")} <= known, line


def test_the_readme_lists_the_exit_codes_of_the_command() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    listed = {int(code) for row in re.findall(r"^\| ([0-9, ]+) \|", text, flags=re.MULTILINE) for code in row.split(",")}
    signals = {exit_codes.INTERRUPTED, exit_codes.BROKEN_PIPE}
    assert {value for value in vars(exit_codes).values() if isinstance(value, int)} - signals <= listed
    assert set(range(7)) <= listed


def test_ci_runs_the_readmes_test_command_and_the_static_checks() -> None:
    script = REPOSITORY / ".ci" / "run"
    lines = script.read_text(encoding="utf-8").splitlines()
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in lines
    assert [line.split()[1] for line in lines if line.startswith("make ")] == ["check", "test"]


def test_links_between_documents_resolve() -> None:
    broken = []
    for path in markdown():
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
            if "://" in target or target.startswith(("#", "mailto:")):
                continue
            if not (path.parent / target.split("#", maxsplit=1)[0]).exists():
                broken.append(f"{path.relative_to(REPOSITORY)}: {target}")
    assert broken == []


def test_every_page_of_the_documentation_is_reachable_from_the_readme() -> None:
    readme = REPOSITORY / "README.md"
    seen, waiting = {readme}, [readme]
    while waiting:
        path = waiting.pop()
        for target in re.findall(r"\]\(([^)\s#]+)", path.read_text(encoding="utf-8")):
            linked = (path.parent / target).resolve()
            pages = sorted(linked.glob("*.md")) if linked.is_dir() else [linked] if linked.suffix == ".md" else []
            new = [page for page in pages if page.is_file() and page not in seen]
            seen.update(new)
            waiting += new
    assert sorted(str(p.relative_to(REPOSITORY)) for p in markdown() if p.is_relative_to(REPOSITORY / "docs") and p not in seen) == []


def test_the_changelog_knows_this_version() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[(Unreleased|{re.escape(pairmark.__version__)})\]", text, flags=re.MULTILINE)


def test_decisions_are_numbered_and_say_what_else_there_was() -> None:
    records = sorted((REPOSITORY / "docs" / "adr").glob("[0-9]*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        text = path.read_text(encoding="utf-8")
        headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
        assert headings == ["Question", "Options", "Decision", "Consequences"], path.name
        assert len(text.splitlines()) <= 60, f"{path.name} is longer than a page"


def test_nothing_large_or_compiled_is_tracked() -> None:
    large = [(path.name, path.stat().st_size) for path in tracked_files() if path.stat().st_size > 2_000_000]
    assert large == []
    assert [path.name for path in tracked_files() if path.suffix in (".pyc", ".so", ".whl", ".db", ".sqlite3")] == []


@pytest.mark.slow
def test_every_process_calls_the_tests_by_the_same_names() -> None:
    """Else they cannot be shared out among processes."""
    listed = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"],
            cwd=REPOSITORY, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        listed.append([line for line in done.stdout.splitlines() if "::" in line])
        time.sleep(1.1)
    assert listed[0]
    assert listed[0] == listed[1]
