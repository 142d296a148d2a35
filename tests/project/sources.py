"""The tracked files of this repository, for tests about the project itself."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "service" / "pairmark"
PURE_LAYERS = ("stats", "domain", "rules", "metrics", "importers", "provenance")


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file that version control holds or would take, except what was deleted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=REPOSITORY, capture_output=True, check=True
    )
    names = sorted({name for name in listed.stdout.decode().split("\0") if name})
    return tuple(path for name in names if (path := REPOSITORY / name).is_file())


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Name and text of every tracked file that is text."""
    for path in tracked_files():
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            yield path.relative_to(REPOSITORY).as_posix(), data.decode("utf-8", "replace")


def package_modules(*layers: str) -> Iterator[tuple[str, ast.Module]]:
    """Name and syntax tree of every module of the package, or of some of its subpackages."""
    folders = [PACKAGE / layer for layer in layers] or [PACKAGE]
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield path.relative_to(REPOSITORY).as_posix(), ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
