"""Inspect: suite manifests as its logs show them."""

from pairmark.adapters.inspect.observed import export_from_logs

__all__ = ["export_from_logs"]
