"""Real harness output that lies beside a development checkout, unpacked once."""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path
from typing import Any

from pairmark.adapters.agentdojo import export_from_runs
from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import in_canonical_order, ledger_digest
from pairmark.domain.evidence import Arm, Role
from pairmark.importers.agentdojo import IMPORTER
from pairmark.importers.base import ArmName, Imported

GPT4O = "gpt-4o-2024-08-06"
REPEAT = "gpt-4o-2024-08-06-repeat_user_prompt"
DRIFT = "gpt-4o-2024-08-06-drift"
CAMEL = "gpt-4o-mini-2024-07-18-camel"
TOOL_FILTER = "gpt-5-mini-2025-08-07-tool_filter"
PROGENT = "qwen_qwen-2.5-72b-instruct-progent"


def unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder


class Samples:
    """The AgentDyn pipelines with the manifest observed in two of them."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.manifest = export_from_runs([runs / GPT4O, runs / REPEAT], "agentdyn")
        self.suite = SuiteManifest.model_validate_json(canonical_bytes(self.manifest))
        self.digest = suite_digest(self.manifest)
        self.tools_digest = digest_of(self.manifest["tools"])
        self.read = cache(self._read)

    def _read(self, pipeline: str, arm: ArmName) -> Imported:
        return IMPORTER.read([self.runs / pipeline], suite=self.suite, suite_digest=self.digest, arm=arm)

    def arm(self, pipeline: str, role: Role, system: dict[str, Any]) -> Arm:
        """An arm of a pair, with the facts of a system file."""
        found = IMPORTER.read(
            [self.runs / pipeline], suite=self.suite, suite_digest=self.digest,
            arm="benign" if role == "benign" else "attacked", system=system,
        )  # fmt: skip
        return sealed(role, found)


def sealed(role: Role, found: Imported) -> Arm:
    """An imported run as the bundle writer would seal it."""
    ledger = in_canonical_order(found.episodes)
    digest = ledger_digest(ledger)
    value = {**found.run, "episodes": {"count": ledger.height, "digest": digest}}
    return Arm(role, Run.model_validate_json(canonical_bytes(value)), digest_of(value), ledger, digest)
