"""Every Eval Ever: instance-level records (lines of JSON), with their aggregate record where it lies beside them."""

from pairmark.importers.every_eval_ever.importer import IMPORTER

__all__ = ["IMPORTER"]
