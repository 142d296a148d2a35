"""Inspect: its evaluation logs, `.eval` and `.json`, read through its own package."""

from pairmark.importers.inspect.importer import IMPORTER

__all__ = ["IMPORTER"]
