"""Small suite manifests for these tests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pairmark.domain.canonical import suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.suite import SuiteManifest


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def item(identifier: str, group: str = "g", *, prompt: str = "", checker: str = "", tags: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "id": identifier,
        "digest": digest(f"prompt {identifier} {prompt}"),
        "checker": digest(f"checker {identifier} {checker}"),
        "group": group,
        "tags": list(tags),
    }


def manifest(
    tasks: Sequence[Mapping[str, Any]],
    injections: Sequence[Mapping[str, Any]],
    *,
    name: str = "toy",
    version: str = "v1",
    environment: str = "env",
    tools: Mapping[str, str] | None = None,
    grid: object = "full",
    epochs: int = 1,
    weighting: str = "task",
) -> dict[str, Any]:
    return {
        "schema": "pairmark/suite/v1",
        "suite": name,
        "version": version,
        "environment": {"digest": digest(environment), "clock": None},
        "tools": [{"name": tool, "digest": digest(text)} for tool, text in (tools or {"send": "a"}).items()],
        "tasks": list(tasks),
        "injections": list(injections),
        "grid": grid,
        "epochs": epochs,
        "weighting": weighting,
    }


def read(value: dict[str, Any]) -> tuple[SuiteManifest, str]:
    """The manifest and its digest."""
    from pairmark.domain.canonical import canonical_bytes

    suite, _ = read_document(SuiteManifest, canonical_bytes(value))
    return suite, suite_digest(value)
