"""Finding plug-ins: every module of a package that has a given module-level name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType


def discover(package: ModuleType, name: str) -> Iterator[object]:
    """Yield `module.<name>` of every direct submodule of `package` that has it, in alphabetical order of modules."""
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        module = importlib.import_module(f"{package.__name__}.{found.name}")
        plugin = getattr(module, name, None)
        if plugin is not None:
            yield plugin
