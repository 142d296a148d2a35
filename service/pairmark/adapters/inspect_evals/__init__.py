"""Suite manifests and probes from the installed inspect_evals package: its agentdojo evaluation. No model, no network."""

from pairmark.adapters.inspect_evals.export import export_suite

__all__ = ["export_suite"]
