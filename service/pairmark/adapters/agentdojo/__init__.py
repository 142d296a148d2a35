"""Suite manifests from AgentDojo: exported from the installed package, or observed in folders of its runs."""

from pairmark.adapters.agentdojo.export import export_suite
from pairmark.adapters.agentdojo.observed import export_from_runs

__all__ = ["export_from_runs", "export_suite"]
