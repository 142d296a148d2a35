#!/usr/bin/env python3
"""Writes manifests/examples/: run bundles from the real AgentDojo harness, driven by a scripted agent. No model, no network.

usage: regenerate_examples.py [FOLDER]     (needs the extra `agentdojo`; about a minute)

The harness' own benchmark runner and logger write log folders; Pairmark's importer reads them; what it gives is the bundle.
"""

from __future__ import annotations

import gzip
import json
import logging
import shutil
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from agentdojo.attacks.baseline_attacks import DirectAttack
from agentdojo.benchmark import benchmark_suite_with_injections, benchmark_suite_without_injections
from agentdojo.logging import OutputLogger
from agentdojo.task_suite.load_suites import get_suite
from google.genai.errors import ServerError
from scripted_agent import MAX_ITERS, KeywordFilter, Script, pipeline

from pairmark.domain.canonical import digest_of, suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import canonical_line, in_canonical_order, ledger_digest
from pairmark.importers.registry import importer_of

VERSION, SUITE = "v1.2.2", "banking"
HERE = Path(__file__).resolve().parent.parent / "manifests"
MANIFEST = HERE / "suites" / f"agentdojo-{SUITE}-{VERSION}.json"

AGENT = Script("scripted-agent-1", seed=1, skill=0.9, gullibility=0.55, distraction=0.3, needs_data=0.35)
OTHER = Script("scripted-agent-2", seed=1, skill=0.85, gullibility=0.35)
FILTER = {"name": "keyword-filter", "version": "1"}
FILTER_WORDS = ("TODO:",)
OVERLOOKS = 0.15
LOST_TASK = "user_task_15"
OUTAGE = frozenset(f"user_task_{number}" for number in range(11, 15))


@dataclass(frozen=True)
class Arm:
    """One run of an example: which script, with the filter or not, attacked or not, over which user tasks and seeds."""

    script: Script
    attacked: bool
    filtered: bool
    seeds: Sequence[int] = (1,)
    without: frozenset[str] = frozenset()


def outage(task: str) -> None:
    """The provider has gone: what Google's client raises, and the harness catches and writes as an outcome."""
    if task in OUTAGE:
        raise ServerError(503, {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})


EXAMPLES: dict[str, dict[str, Arm]] = {
    "certified": {
        "benign": Arm(AGENT, attacked=False, filtered=True, seeds=(1, 2)),
        "attacked": Arm(AGENT, attacked=True, filtered=True),
        "baseline": Arm(AGENT, attacked=True, filtered=False),
    },
    "refused": {
        "benign": Arm(AGENT, attacked=False, filtered=True, seeds=(1, 2)),
        "attacked": Arm(replace(AGENT, fails=outage), attacked=True, filtered=True, without=frozenset({LOST_TASK})),
        "baseline": Arm(AGENT, attacked=True, filtered=False),
    },
    "quarantined": {
        "benign": Arm(replace(OTHER, skill=0.15), attacked=False, filtered=False),
        "attacked": Arm(OTHER, attacked=True, filtered=False),
    },
}
"""By example and role. In `quarantined` the benign arm was run with a less able script than the attacked one, as when a tool
was down on the day of the benign run: nothing in the records tells, only the rates do."""


def run_arm(arm: Arm, logs: Path) -> list[Path]:
    """Run an arm on the harness; the pipeline directory of each seed."""
    folders = []
    for seed in arm.seeds:
        suite = get_suite(VERSION, SUITE)
        defense = KeywordFilter(FILTER_WORDS, OVERLOOKS) if arm.filtered else None
        agent = pipeline(suite, replace(arm.script, seed=seed), defense)
        folder = logs / f"seed-{seed}"
        folder.mkdir(parents=True)
        tasks = [task for task in suite.user_tasks if task not in arm.without]
        with warnings.catch_warnings(), OutputLogger(str(folder)):
            warnings.simplefilter("ignore", UserWarning)  # not all injection tasks were solved as user tasks
            if arm.attacked:
                benchmark_suite_with_injections(
                    agent,
                    suite,
                    DirectAttack(suite, agent),
                    folder,
                    force_rerun=False,
                    user_tasks=tasks,
                    benchmark_version=VERSION,
                )
            else:
                benchmark_suite_without_injections(
                    agent, suite, folder, force_rerun=False, user_tasks=tasks, benchmark_version=VERSION
                )
        folders.append(folder / agent.name)
    return folders


def system_of(arm: Arm, manifest: dict[str, Any]) -> dict[str, Any]:
    """What the harness does not record, and this script knows. A scripted agent sends no decoding parameters."""
    return {
        "system": {
            "model": {"requested": arm.script.name, "served": [arm.script.name], "provider": None},
            "decoding": {"temperature": None, "top_p": None, "max_tokens": None},
            "tools_digest": digest_of(manifest["tools"]),
            "scaffold": {"name": "agentdojo-pipeline", "version": "0.1.35"},
            "defenses": [FILTER] if arm.filtered else [],
            "limits": {"max_iters": MAX_ITERS},
        },
        "retries": {"max_attempts": 1},
    }


def write_bundle(run: dict[str, Any], frame: pl.DataFrame, folder: Path) -> None:
    """`run.json` and `episodes.jsonl.gz`, without the file's own time, so that equal content gives equal bytes."""
    ordered = in_canonical_order(frame)
    run = {**run, "episodes": {"count": ordered.height, "digest": ledger_digest(ordered)}}
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = b"".join(canonical_line(row) for row in ordered.iter_rows(named=True))
    (folder / "episodes.jsonl.gz").write_bytes(gzip.compress(lines, 9, mtime=0))


def regenerate(folder: Path) -> None:
    """Write every example below `folder`."""
    suite, manifest = read_document(SuiteManifest, MANIFEST.read_bytes(), file=str(MANIFEST))
    importer = importer_of("agentdojo")
    for example, roles in EXAMPLES.items():
        for role, arm in roles.items():
            with tempfile.TemporaryDirectory() as logs:
                imported = importer.read(
                    run_arm(arm, Path(logs)),
                    suite=suite,
                    suite_digest=suite_digest(manifest),
                    arm="attacked" if arm.attacked else "benign",
                    system=system_of(arm, manifest),
                )
            # How long a script takes says nothing, and differs every time.
            episodes = imported.episodes.with_columns(duration_ms=pl.lit(None, pl.Int64))
            write_bundle(imported.run, episodes, folder / example / role)
            print(f"{folder / example / role}: {episodes.height} episodes")


def main() -> int:
    logging.disable(logging.CRITICAL)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "examples"
    for example in EXAMPLES:
        shutil.rmtree(folder / example, ignore_errors=True)
    regenerate(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
