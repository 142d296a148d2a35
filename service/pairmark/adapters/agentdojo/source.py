"""Digests of code: the source of the members and functions that a check runs, found by name from the check itself.

Texts as they stand in the files, so that a digest depends on the package and on nothing else: no memory address, path,
set order, nor the Python that reads it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from pairmark.domain.canonical import digest_of


@dataclass(frozen=True)
class CodeBase:
    """Whose code is looked into: modules that begin with `prefix`, without those of the `framework` itself."""

    prefix: str
    framework: frozenset[str]

    def holds(self, module: str) -> bool:
        return module.startswith(self.prefix) and module not in self.framework


AGENTDOJO = CodeBase("agentdojo.", frozenset({"agentdojo.base_tasks", "agentdojo.functions_runtime"}))
"""Its framework is known by its own digests: see `framework`."""

_Members = Mapping[str, tuple[ModuleType, ast.stmt]]


@cache
def module_text(module: ModuleType) -> str:
    """The module's source with line feeds as line ends."""
    return "\n".join(inspect.getsource(module).splitlines())


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(module_text(module))


def _segment(module: ModuleType, node: ast.stmt) -> str:
    lines = module_text(module).split("\n")[node.lineno - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(line.rstrip() for line in lines))


def _names_of(node: ast.stmt) -> Iterator[str]:
    """Names that a statement of a class body or module defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def _used(node: ast.AST) -> Iterator[str]:
    """Names and attributes that code uses when it runs: annotations are left out."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                yield from _used(child)


def _members(cls: type, code: CodeBase) -> _Members:
    """Members of a task class by name, nearest class first, without those of the framework's base classes."""
    found: dict[str, tuple[ModuleType, ast.stmt]] = {}
    for base in cls.__mro__:
        if not code.holds(base.__module__):
            continue
        module = importlib.import_module(base.__module__)
        bodies = [node for node in _tree(module).body if isinstance(node, ast.ClassDef) and node.name == base.__name__]
        if len(bodies) != 1:
            raise RuntimeError(f"expected one class {base.__name__} in {base.__module__}, found {len(bodies)}")
        for node in bodies[0].body:
            for name in _names_of(node):
                found.setdefault(name, (module, node))
    return found


def _global(module: ModuleType, name: str, code: CodeBase) -> tuple[ModuleType, ast.stmt] | None:
    """Where a global name of a module is defined as a function or a value; classes and other packages are none."""
    for node in _tree(module).body:
        if name in _names_of(node) and not isinstance(node, ast.ClassDef):
            return module, node
        if isinstance(node, ast.ImportFrom) and code.holds(node.module or ""):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _global(importlib.import_module(str(node.module)), alias.name, code)
    return None


def _closure(start: Iterable[tuple[ModuleType, ast.stmt]], members: _Members, code: CodeBase) -> list[list[str]]:
    """Sources of `start` and of everything they use, as sorted pairs of name and text."""
    waiting, seen = list(start), set()
    sources: set[tuple[str, str]] = set()
    while waiting:
        module, node = waiting.pop()
        place = (module.__name__, node.lineno)
        if place in seen:
            continue
        seen.add(place)
        sources.update((name, _segment(module, node)) for name in _names_of(node))
        for name in _used(node):
            found = members.get(name) or _global(module, name, code)
            if found is not None:
                waiting.append(found)
    return [list(pair) for pair in sorted(sources)]


def checker_digest(task: Any, methods: Iterable[str], code: CodeBase = AGENTDOJO) -> str:
    """Digest of a task's check: the named methods as far as the task defines them, and what they use.

    A task that the harness combined out of two has both their checks, and the source of the combination.
    """
    parts = _combined(task)
    if parts:
        combination = importlib.import_module(type(task).utility.__module__)
        checks = [checker_digest(part, methods, code) for part in parts]
        return digest_of({"combined": checks, "combination": module_text(combination)})
    members = _members(type(task), code)
    start = [members[method] for method in methods if method in members]
    if not start:
        raise RuntimeError(f"expected {type(task).__name__} to define one of {tuple(methods)}")
    return digest_of({"checker": _closure(start, members, code)})


def _combined(task: Any) -> list[Any]:
    """The tasks that a combined task closes over, in order; empty for a task of its own."""
    check = getattr(type(task), "utility", None)
    if check is None or "<locals>" not in check.__qualname__:
        return []
    held = inspect.getclosurevars(check).nonlocals
    return [held[name] for name in sorted(held)]


def function_source(function: Any) -> str:
    """Source of a function as it stands in its file: signature, documentation and body. Of one made inside another, the other's."""
    module = importlib.import_module(function.__module__)
    name = function.__qualname__.partition(".")[0]
    nodes = [node for node in _tree(module).body if isinstance(node, ast.FunctionDef) and node.name == name]
    if len(nodes) != 1:
        raise RuntimeError(f"expected one function {name} in {function.__module__}, found {len(nodes)}")
    return _segment(module, nodes[0])
