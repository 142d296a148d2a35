"""From a result file to a benign run: an epoch for every trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from pairmark.importers.base import PLACE_SCHEMA, ArmName, Example, Fact, Imported, Recorded, Unreadable
from pairmark.importers.epochs import check_epoch_number, refuse_copies
from pairmark.importers.run_document import refuse_attack_in_benign, run_document
from pairmark.importers.single_file import single_file
from pairmark.importers.tau_bench.episodes import row_of
from pairmark.importers.tau_bench.examples import EXAMPLES
from pairmark.importers.tau_bench.items import Item, is_results, items_of
from pairmark.importers.tau_bench.records import RECORDS

HARNESS = "tau-bench"
WHAT = "one result file of tau-bench"


@dataclass(frozen=True)
class TauBenchImporter:
    """Reads result files of tau-bench, also compressed with gzip."""

    name: str = "tau-bench"
    title: str = "tau-bench result files (one JSON list; benign arm only)"
    looks_for: str = "a JSON list (or .gz of one) whose items start with task_id, reward and info, or a folder with one such file"
    examples: tuple[Example, ...] = EXAMPLES
    records: Mapping[Fact, Recorded] = field(default_factory=lambda: RECORDS)

    def recognises(self, paths: Sequence[Path]) -> bool:
        try:
            return is_results(single_file(paths, is_results, WHAT)[0])
        except (Malformed, OSError, ValueError):
            return False

    def read(
        self,
        paths: Sequence[Path],
        *,
        suite: SuiteManifest,
        suite_digest: str,
        arm: ArmName,
        attack: str | None = None,
        epoch: int | None = None,
        system: Mapping[str, Any] | None = None,
    ) -> Imported:
        from pairmark.domain.episodes import frame_of
        from pairmark.importers.system_file import check_system_file

        given = dict(system or {})
        check_system_file(given)
        refuse_attack_in_benign(arm, attack)
        check_epoch_number(epoch)
        path, others = single_file(paths, is_results, WHAT)
        if arm == "attacked":
            raise Malformed("no-attack", "expected runs with injections, found tau-bench, which has none", str(path), remedy="import it as the benign arm")
        rows: list[dict[str, Any]] = []
        places: list[dict[str, Any]] = []
        unreadable: list[Unreadable] = []
        prompts: dict[str, int] = {}
        for item in items_of(path):
            if item.problem is not None:
                unreadable.append(Unreadable(f"{path}:{item.number}", item.problem, str(path)))
            if item.task is None or item.trial is None:
                continue
            cell = {"task_id": item.task, "injection_id": None, "epoch": item.trial + 1, "attempt": 1}
            rows.append({**cell, **row_of(item)})
            places.append({**cell, "file": str(path), "line": None})
            if item.system_prompt is not None:
                prompts.setdefault(item.system_prompt, item.number)
        if not rows:
            raise Malformed("no-episodes", "expected items, found none that names its cell", str(path), remedy="give the file of a finished run")
        _renumber(rows, places, epoch)
        run = run_document(
            arm=arm, suite=suite, suite_digest=suite_digest, attack=None, given=given, harness=HARNESS,
            recorded={"system_prompt_digest": _one_prompt(prompts, path)}, epochs=dict.fromkeys(sorted({row["epoch"] for row in rows})),
        )  # fmt: skip
        aside = {"other files in the folder": others} if others else {}
        notes = () if prompts else ("the file shows no system prompt: system_prompt_digest is unrecorded unless it is given",)
        where = pl.DataFrame(places, schema=PLACE_SCHEMA)
        ledger = frame_of(rows)
        refuse_copies(ledger)
        return Imported(run, ledger, tuple(unreadable), aside, notes, places=where)


def _renumber(rows: Sequence[dict[str, Any]], places: Sequence[dict[str, Any]], epoch: int | None) -> None:
    if epoch is None:
        return
    found = {row["epoch"] for row in rows}
    if len(found) != 1:
        raise Malformed(
            "usage", f"expected a file of one trial with an epoch number, found {len(found)}", remedy="leave the number out: trials are epochs"
        )
    for row in (*rows, *places):
        row["epoch"] = epoch


def _one_prompt(prompts: Mapping[str, int], path: Path) -> str | None:
    """Digest of the domain's policy, which all conversations of a run open with.

    Raises:
        Malformed: they differ.
    """
    digests = {digest_of_bytes(text.encode("utf-8", "surrogatepass")): number for text, number in prompts.items()}
    if len(digests) > 1:
        listed = "; ".join(f"{digest} first in item {number}" for digest, number in list(digests.items())[:4])
        raise Malformed(
            "mixed-system-prompts", f"expected one system prompt in one run, found {len(digests)}: {listed}", str(path),
            remedy="import runs of different domains or policies from files of their own",
        )  # fmt: skip
    return next(iter(digests), None)


__all__ = ["HARNESS", "IMPORTER", "WHAT", "Item", "TauBenchImporter"]

IMPORTER = TauBenchImporter()
