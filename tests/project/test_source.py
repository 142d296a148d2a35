"""House rules that no linter knows."""

from __future__ import annotations

import ast
from collections import defaultdict

import pytest

from tests.project.sources import PACKAGE, PURE_LAYERS, REPOSITORY, package_modules

CLOCKS_AND_CHANCE = {
    ("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today"),
    ("os", "environ"), ("os", "getenv"), ("os", "urandom"), ("os", "getpid"),
}
SHARED = (("np", "random"), ("numpy", "random"))
SEEDED = {"Generator", "default_rng", "SeedSequence", "PCG64", "BitGenerator"}
"""What of `numpy.random` takes its seed as an argument, and says nothing without one."""


def _dotted(node: ast.expr) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (*_dotted(node.value), node.attr)
    return ()


def _impurities(tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := _dotted(node))[-2:] in CLOCKS_AND_CHANCE:
            found.append(f"line {node.lineno}: {'.'.join(name)}")
        if isinstance(node, ast.Attribute) and _dotted(node.value)[-2:] in SHARED and node.attr not in SEEDED:
            found.append(f"line {node.lineno}: the shared generator numpy.random.{node.attr}")
        if isinstance(node, ast.Call) and _dotted(node.func)[-1:] == ("default_rng",) and not (node.args or node.keywords):
            found.append(f"line {node.lineno}: default_rng() without a seed")
    return found


def test_pure_layers_ask_no_clock_no_chance_and_no_environment() -> None:
    """import-linter sees modules; this sees what is called on those that are allowed."""
    assert {name: found for name, tree in package_modules(*PURE_LAYERS) if (found := _impurities(tree))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import datetime\ndatetime.datetime.now()", "from datetime import date\ndate.today()", "import os\nos.environ['A']",
        "import numpy as np\nnp.random.rand()", "import numpy as np\nnp.random.default_rng()",
        "import numpy as np\nnp.random.seed(1)",
    ],
)
def test_an_impurity_would_be_seen(text: str) -> None:
    assert _impurities(ast.parse(text))


def test_a_seeded_generator_is_fine() -> None:
    assert not _impurities(ast.parse("import numpy as np\nnp.random.default_rng(seed)"))


def test_every_module_says_what_it_is() -> None:
    silent = [name for name, tree in package_modules() if ast.get_docstring(tree) is None]
    assert silent == []


def _parts_of_documents(tree: ast.Module) -> set[str]:
    """Classes at a module's top that are models of what stands under a key of a document."""
    parts = {"Strict", "Undefined"}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id in parts for base in node.bases):
            parts.add(node.name)
    return parts


def _public_without_docstring(tree: ast.Module) -> list[str]:
    """Classes and functions at a module's top; a part of a document may speak through the key it stands under."""
    parts = _parts_of_documents(tree)
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and node.name not in parts
        and ast.get_docstring(node) is None
    ]


def test_public_names_of_the_pure_layers_say_what_they_are() -> None:
    silent = {name: found for name, tree in package_modules(*PURE_LAYERS) if (found := _public_without_docstring(tree))}
    assert silent == {}


def test_no_module_is_a_drawer() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}
    named = {path.relative_to(REPOSITORY).as_posix() for path in PACKAGE.rglob("*.py") if path.stem.lower() in drawers}
    assert named == set()


def test_modules_stay_readable() -> None:
    lengths = {path.relative_to(REPOSITORY).as_posix(): len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > 400} == {}


def test_no_function_is_written_twice() -> None:
    """Bodies of at least six statements, compared by their syntax trees."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, tree in package_modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                if sum(isinstance(each, ast.stmt) for part in body for each in ast.walk(part)) >= 6:
                    places["\n".join(ast.dump(part) for part in body)].append(f"{name}:{node.lineno} {node.name}")
    assert [found for found in places.values() if len(found) > 1] == []
