"""Which rules are installed, read from their source without running it: listing them must not load the table library."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Declared:
    """A rule as its file declares it."""

    id: str
    version: int
    title: str


def declared_rules() -> list[Declared]:
    """Every rule of the package, by id and version; a test holds this against the registry.

    Raises:
        ValueError: a rule file states its id, version or title otherwise than as a literal.
    """
    package = importlib.util.find_spec("pairmark.rules")
    if package is None or package.submodule_search_locations is None:
        raise ValueError("expected the package pairmark.rules, found none; install pairmark again")
    files = (path for folder in package.submodule_search_locations for path in Path(folder).glob("*.py"))
    return sorted(rule for path in files for rule in _declared_in(path))


def _declared_in(path: Path) -> list[Declared]:
    tree = ast.parse(path.read_bytes(), filename=str(path))
    return [
        Declared(
            **{
                word.arg: ast.literal_eval(word.value)
                for word in node.value.keywords
                if word.arg in ("id", "version", "title")
            }
        )
        for node in tree.body
        if isinstance(node, ast.Assign)
        and [target.id for target in node.targets if isinstance(target, ast.Name)] == ["RULE"]
        and isinstance(node.value, ast.Call)
    ]
