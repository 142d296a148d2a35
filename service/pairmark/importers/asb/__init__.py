"""Agent Security Bench: its result tables, one CSV per condition, a row per (agent, attack tool)."""

from pairmark.importers.asb.importer import IMPORTER

__all__ = ["IMPORTER"]
