"""AgentDojo: its log folders, `<suite>/<task>/<attack>/<injection>.json` below one directory per pipeline."""

from pairmark.importers.agentdojo.importer import IMPORTER

__all__ = ["IMPORTER"]
