"""Home-made harnesses: CSV, JSON Lines or Parquet, and a mapping that says what the columns mean."""

from pairmark.importers.generic.importer import IMPORTER

__all__ = ["IMPORTER"]
