"""AgentDojo: its log folders, `<suite>/<task>/<attack>/<injection>.json` below one directory per pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairmark.importers.agentdojo.importer import IMPORTER

__all__ = ["IMPORTER"]


def __getattr__(name: str) -> Any:
    """`IMPORTER`, when it is asked for: a helper of `several` starts without the tables and documents it stands on."""
    if name != "IMPORTER":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pairmark.importers.agentdojo.importer import IMPORTER

    return IMPORTER
