"""Digest of an environment: its data, the places payloads go to, and the modules that implement it."""

from __future__ import annotations

import importlib
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

    yaml = importlib.import_module("yaml")  # comes with the harness
    data, vectors = (
        plain(yaml.safe_load(read_suite_file(suite.name, file, suite.data_path)))
        for file in ("environment.yaml", "injection_vectors.yaml")
    )
    modules = {suite.environment_type.__module__} | {tool.run.__module__ for tool in suite.tools}
    modules |= {
        field.annotation.__module__
        for field in suite.environment_type.model_fields.values()
        if getattr(field.annotation, "__module__", "").startswith("agentdojo.")
    }
    return digest_of(
        {
            "data": data,
            "injection_vectors": vectors,
            "modules": {
                name: digest_of_bytes(module_text(importlib.import_module(name)).encode()) for name in sorted(modules)
            },
        }
    )
