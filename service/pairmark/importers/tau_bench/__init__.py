"""tau-bench: its result files, one JSON list per run, an item per (task, trial). There are no injections."""

from pairmark.importers.tau_bench.importer import IMPORTER

__all__ = ["IMPORTER"]
