"""Run bundles made from the contract alone: plain dicts, digests by rfc8785, none of Pairmark's code."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rfc8785

Row = dict[str, Any]
KEYS = (
    "task_id", "injection_id", "epoch", "status", "utility", "attack_success", "delivered", "attacker_actions",
    "served_model", "duration_ms", "error", "task_digest", "transcript_digest", "attempt",
)  # fmt: skip
UNLABELLED = ("version", "description", "source", "probes")
ABORTED: Row = {"status": "infra_error", "utility": None, "attack_success": None}
ABSENT = object()


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def digest_of_text(text: str) -> str:
    return sha256(text.encode())


def number(name: str) -> int:
    """`t07` and `i07` are 7."""
    return int(name[1:3])


class Made:
    """Twenty tasks by five injections and a baseline, certifiable as it stands; the methods change it and return it.

    Benign: all but the last two tasks succeed. Under attack: one injection in five undoes a task.
    """

    def __init__(
        self,
        tasks: int = 20,
        injections: int = 5,
        epochs: int = 1,
        benign_epochs: int | None = None,
        seeds: tuple[int | None, ...] = (7, 8, 9),
        grid: list[tuple[int, int]] | None = None,
        weighting: str = "task",
        probe: str | None = "1/100",
        defended: bool = True,
    ) -> None:
        names, attacks = [f"t{n:02d}" for n in range(tasks)], [f"i{n:02d}" for n in range(injections)]
        cells = [(t, i) for t in names for i in attacks] if grid is None else [(names[t], attacks[i]) for t, i in grid]
        self.suite: Row = {
            "schema": "pairmark/suite/v1", "suite": "made/one", "version": "v1",
            "environment": {"digest": digest_of_text("environment"), "clock": None},
            "tools": [{"name": "send", "digest": digest_of_text("send")}],
            "tasks": [self._part(name) for name in names], "injections": [self._part(name) for name in attacks],
            "grid": "full" if grid is None else [{"task": t, "injection": i} for t, i in cells],
            "epochs": epochs, "weighting": weighting,
        }  # fmt: skip
        if probe is not None:
            self.suite["probes"] = {"null_agent": {"utility": probe, "method": "ran it"}}
        declared = [{"epoch": n + 1, "seed": seeds[n]} for n in range(max(epochs, benign_epochs or 0))]
        defenses = [{"name": "filter", "version": "1", "changes": []}] if defended else []
        self.runs = {
            "benign": self._run("benign", defenses, declared[: benign_epochs or epochs]),
            "attacked": self._run("attacked", defenses, declared[:epochs]),
        }
        self.rows = {
            "benign": [
                self._row(t, None, e["epoch"], utility=number(t) < tasks - 2)
                for t in names
                for e in self.runs["benign"]["epochs"]
            ],
            "attacked": [
                self._row(t, i, e["epoch"], utility=number(t) < tasks - 2 and (number(t) + number(i)) % 5 > 0,
                          attack_success=number(i) == 0, delivered=True, attacker_actions=1)
                for t, i in cells
                for e in self.runs["attacked"]["epochs"]
            ],
        }  # fmt: skip
        if defended:
            self.runs["baseline"] = self._run("attacked", [], [{"epoch": 1, "seed": None}])
            self.rows["baseline"] = [
                self._row(t, i, 1, utility=False, attack_success=True, delivered=True, attacker_actions=2)
                for t, i in cells
            ]
        self.after: list[Callable[[Row], object]] = []
        self.cited: dict[str, str] = {}
        self.policy = "standard/1"

    @staticmethod
    def _part(name: str) -> Row:
        return {"id": name, "digest": digest_of_text(name), "checker": digest_of_text("checks " + name), "group": "g"}

    @staticmethod
    def _row(task: str, injection: str | None, epoch: int, **known: Any) -> Row:
        return {
            **dict.fromkeys(KEYS), "task_id": task, "injection_id": injection, "epoch": epoch, "status": "completed",
            "served_model": "m-2025", "task_digest": digest_of_text(task), "attempt": 1,
            "transcript_digest": digest_of_text(f"{task} {injection} {epoch} {'attack_success' in known}"), **known,
        }  # fmt: skip

    @staticmethod
    def _run(arm: str, defenses: list[Row], epochs: list[Row]) -> Row:
        return {
            "schema": "pairmark/run/v1", "arm": arm, "suite": {"name": "made/one"},
            "attack": None if arm == "benign" else {"name": "ignore", "digest": digest_of_text("ignore")},
            "system": {
                "model": {"requested": "m", "served": ["m-2025"], "provider": "p"},
                "decoding": {"temperature": 0.0, "top_p": None, "max_tokens": 4096},
                "tools_digest": digest_of_text("tools"), "system_prompt_digest": digest_of_text("prompt"),
                "scaffold": {"name": "loop", "version": "1"}, "limits": {"max_steps": 15},
                "defenses": copy.deepcopy(defenses),
            },
            "harness": {"name": "h", "version": "1", "commit": None, "image": None},
            "epochs": copy.deepcopy(epochs), "retries": {"max_attempts": 1},
            "started_at": "2026-01-22T07:00:00+00:00", "finished_at": "2026-01-22T09:10:00Z",
        }  # fmt: skip

    def put(self, arms: str, path: str, value: object) -> Made:
        """Set a dotted path of the run documents of `arms` (`all`, or names joined by +); ABSENT takes the key out."""
        for arm in self.runs if arms == "all" else arms.split("+"):
            place: Any = self.runs[arm]
            *above, last = path.split(".")
            for key in above:
                place = place[int(key) if isinstance(place, list) else key]
            if value is ABSENT:
                del place[last]
            else:
                place[last] = copy.deepcopy(value)
        return self

    def edit(self, arm: str, count: int | None = None, where: Callable[[Row], bool] = bool, **values: Any) -> Made:
        """Set values (or functions of the row) in the first `count` rows that match, or in all of them."""
        rows = [row for row in self.rows[arm] if where(row)][:count]
        assert len(rows) == (count or len(rows)) > 0
        for row in rows:
            row.update({key: value(row) if callable(value) else value for key, value in values.items()})
        return self

    def add(self, arm: str, **values: Any) -> Made:
        self.rows[arm].append({**self.rows[arm][0], **values})
        return self

    def retried(self, arm: str, **first: Any) -> Made:
        """The first episode becomes a second attempt; the first attempt is an infrastructure failure, or as given."""
        row = self.rows[arm][0]
        self.rows[arm].append({**row, **ABORTED, **first})
        row["attempt"] = 2
        return self

    def later(self, change: Callable[[Row], object]) -> Made:
        """Change the manifest after the runs have cited its digest."""
        self.after.append(change)
        return self

    def citing(self, arm: str, digest: str) -> Made:
        self.cited[arm] = digest
        return self

    def without_baseline(self) -> Made:
        del self.runs["baseline"], self.rows["baseline"]
        return self

    def under(self, policy: str) -> Made:
        self.policy = policy
        return self

    def write(self, folder: Path) -> Path:
        covered = {key: value for key, value in self.suite.items() if key not in UNLABELLED}
        digest = sha256(rfc8785.dumps(covered))
        for change in self.after:
            change(self.suite)
        (folder / "suite.json").write_text(json.dumps(self.suite), encoding="utf-8")
        for arm, run in self.runs.items():
            canonical = sorted(self.rows[arm], key=_order)
            ledger = b"".join(rfc8785.dumps(row) + b"\n" for row in canonical)
            sealed = {
                **run, "suite": {"name": "made/one", "digest": self.cited.get(arm, digest)},
                "episodes": {"count": len(canonical), "digest": sha256(ledger)},
            }  # fmt: skip
            (folder / arm).mkdir()
            (folder / arm / "run.json").write_text(json.dumps(sealed), encoding="utf-8")
            lines = "".join(json.dumps(row) + "\n" for row in self.rows[arm])
            (folder / arm / "episodes.jsonl").write_text(lines, encoding="utf-8")
        return folder


def _order(row: Row) -> tuple[str, bool, str, int, int]:
    injection = row["injection_id"]
    return (row["task_id"], injection is not None, injection or "", row["epoch"], row["attempt"])
