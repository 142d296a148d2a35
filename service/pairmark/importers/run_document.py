"""The run document of a reader whose files hold one run: what they show, joined with what the system file says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.base import ArmName
from pairmark.importers.system_file import run_epochs, run_harness, run_system


def run_document(
    *,
    arm: ArmName,
    suite: SuiteManifest,
    suite_digest: str,
    attack: str | None,
    given: Mapping[str, Any],
    harness: str,
    recorded: Mapping[str, Any],
    epochs: Mapping[int, int | None],
) -> dict[str, Any]:
    """Complete but for `episodes`. `given`: a checked system file; `recorded`: of `system`, by key; `epochs`: seeds found.

    Raises:
        Malformed: the system file contradicts what was recorded.
    """
    return {
        "schema": "pairmark/run/v1",
        "arm": arm,
        "suite": {"name": suite.suite, "digest": suite_digest},
        "attack": None if attack is None else {"name": attack, "digest": None},
        "system": run_system(given.get("system"), recorded),
        "harness": run_harness(given.get("harness"), name=harness, version=None),
        "epochs": run_epochs(given.get("epochs"), epochs),
        "retries": given.get("retries") or {"max_attempts": None},
        "started_at": given.get("started_at"),
        "finished_at": given.get("finished_at"),
        "episodes": None,
    }


def refuse_attack_in_benign(arm: ArmName, attack: str | None) -> None:
    """Refuse an attack's name where nothing is attacked.

    Raises:
        Malformed: `usage`.
    """
    if arm == "benign" and attack is not None:
        raise Malformed("usage", f"expected no attack in a benign arm, found {shown(attack)}", remedy="leave it out")
