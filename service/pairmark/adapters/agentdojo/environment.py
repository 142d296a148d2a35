"""Digest of an environment: its data, the places payloads go to, and the modules that implement it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from pairmark.adapters.agentdojo.source import module_text
from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes
from pairmark.domain.strict_json import MAX_SAFE_INTEGER


def plain(value: Any) -> Any:
    """YAML data as JSON that keeps every difference: pairs for mappings in an order of their own, times and large integers tagged."""
    if isinstance(value, dict):
        return {"mapping": sorted(([plain(key), plain(item)] for key, item in value.items()), key=canonical_bytes)}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, datetime | date):
        return {"time": value.isoformat()}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_SAFE_INTEGER:
        return {"integer": str(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"expected data that YAML can hold, found {type(value).__name__}")


def environment_digest(suite: Any) -> str:
    """Digest of the suite's data files and of the source of the modules its tools and its environment are defined in."""
    from agentdojo.task_suite.task_suite import read_suite_file

    data, vectors = (read_suite_file(suite.name, file, suite.data_path) for file in FILES)
    modules = {suite.environment_type.__module__} | {tool.run.__module__ for tool in suite.tools}
    modules |= modules_of_fields(suite.environment_type, "agentdojo.")
    return digest_of(environment_content(data, vectors, modules))


FILES = ("environment.yaml", "injection_vectors.yaml")


def environment_content(data: str, vectors: str, modules: Iterable[str]) -> dict[str, Any]:
    """What a digest of an environment covers: two YAML texts, as the harness reads them, and the source of modules."""
    yaml = importlib.import_module("yaml")  # comes with the harness
    return {
        "data": plain(yaml.safe_load(data)),
        "injection_vectors": plain(yaml.safe_load(vectors)),
        "modules": {
            name: digest_of_bytes(module_text(importlib.import_module(name)).encode()) for name in sorted(set(modules))
        },
    }


def modules_of_fields(environment: Any, prefix: str) -> set[str]:
    """Modules, of those that begin with `prefix`, in which the parts of an environment model are defined."""
    found = {getattr(field.annotation, "__module__", "") for field in environment.model_fields.values()}
    return {module for module in found if module.startswith(prefix)}
