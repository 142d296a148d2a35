"""A synthetic experiment with known truth, and one-line faults: what rule examples, docs and tests are built on.

`World()` certifies under `standard/1`. Every method returns a changed copy, so a fault reads as one line:

    World().edit_run("attacked", "/system/model/served", ["another-model"])
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

import polars as pl

from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import canonical_line, in_canonical_order, ledger_digest
from pairmark.domain.evidence import Arm, Experiment, Role
from pairmark.domain.world_parts import digest_of_text, ledger_frame, run_value, suite_value

Which = Role | Literal["pair", "all"]
"""One arm, benign and attacked, or every arm that is there."""

Where = pl.Expr | int | None
"""Rows by a condition, the first so many, or all."""


@dataclass(frozen=True, eq=False)
class Side:
    """One arm: the run document without its declared episodes, and the ledger in canonical order."""

    value: Mapping[str, Any]
    frame: pl.DataFrame

    @cached_property
    def ledger_digest(self) -> str:
        return ledger_digest(self.frame)


@cache
def _start(tasks: int, injections: int, groups: int, epochs: int) -> tuple[dict[str, Any], dict[Role, Side]]:
    suite = suite_value(tasks, injections, groups, epochs)
    roles: tuple[Role, ...] = ("benign", "attacked", "baseline")
    return suite, {
        role: Side(run_value(role, suite, epochs), ledger_frame(role, tasks, injections, groups, epochs))
        for role in roles
    }


@dataclass(frozen=True, eq=False)
class World:
    """A suite and its arms: 20 tasks and 15 injections in two groups, a defended pair, an undefended baseline."""

    suite: Mapping[str, Any] = field(default_factory=lambda: _start(20, 15, 2, 1)[0])
    sides: Mapping[Role, Side] = field(default_factory=lambda: _start(20, 15, 2, 1)[1])

    @classmethod
    def of(cls, *, tasks: int = 20, injections: int = 15, groups: int = 2, epochs: int = 1) -> World:
        """A certifiable world of another size; groups share tasks and injections out in turn."""
        return cls(*_start(tasks, injections, groups, epochs))

    # what it yields

    def suite_manifest(self) -> dict[str, Any]:
        """The manifest as written."""
        return copy.deepcopy(dict(self.suite))

    def run(self, role: Role) -> dict[str, Any]:
        """The run document of an arm, with the count and digest of its ledger."""
        side = self.sides[role]
        declared = {"count": side.frame.height, "digest": side.ledger_digest}
        return copy.deepcopy({**side.value, "episodes": declared})

    def frame(self, role: Role) -> pl.DataFrame:
        """The ledger of an arm, in canonical order."""
        return self.sides[role].frame

    def arm(self, role: Role) -> Arm:
        """An arm as rules see it."""
        value = self.run(role)
        run = Run.model_validate_json(canonical_bytes(value))
        return Arm(role, run, digest_of(value), self.frame(role), self.sides[role].ledger_digest)

    def experiment(self) -> Experiment:
        """The evidence a verdict is taken over. Raises pydantic's ValidationError where an edit broke a document."""
        suite = SuiteManifest.model_validate_json(canonical_bytes(dict(self.suite)))
        baseline = self.arm("baseline") if "baseline" in self.sides else None
        return Experiment(suite, suite_digest(self.suite), self.arm("benign"), self.arm("attacked"), baseline)

    def files(self) -> dict[str, bytes]:
        """What a person would hold: `suite.json`, and `run.json` and `episodes.jsonl` under each arm's name."""
        found = {"suite.json": canonical_bytes(dict(self.suite))}
        for role, side in self.sides.items():
            found[f"{role}/run.json"] = canonical_bytes(self.run(role))
            found[f"{role}/episodes.jsonl"] = b"".join(canonical_line(row) for row in side.frame.iter_rows(named=True))
        return found

    # changes to documents

    def edit_suite(self, pointer: str, value: Any) -> World:
        """Set a place of the manifest; every run then cites the changed manifest. To cite another, edit the run."""
        suite = _with(self.suite, pointer, value)
        changed = replace(self, suite=suite)
        return changed.edit_run("all", "/suite", {"name": suite["suite"], "digest": suite_digest(suite)})

    def edit_run(self, which: Which, pointer: str, value: Any) -> World:
        """Set a place of a run document."""
        return self._changed(which, lambda side: replace(side, value=_with(side.value, pointer, value)))

    def drop_key(self, which: Which, pointer: str) -> World:
        """Remove a key from a run document."""
        return self._changed(which, lambda side: replace(side, value=_with(side.value, pointer, _REMOVED)))

    def swap_model(self, which: Which, model: str = "model-y-2026-02-02") -> World:
        """Another model answered: in the run document and in every episode."""
        return self.edit_run(which, "/system/model/served", [model]).set(which, served_model=model)

    def swap_arms(self) -> World:
        """The benign bundle handed in as the attacked one, and the other way round."""
        return replace(self, sides={**self.sides, "benign": self.sides["attacked"], "attacked": self.sides["benign"]})

    def without_probe(self) -> World:
        """The manifest records no null-agent probe."""
        return replace(self, suite={key: value for key, value in self.suite.items() if key != "probes"})

    def as_baseline(self, role: Role) -> World:
        """An arm's bundle handed in as the baseline."""
        return replace(self, sides={**self.sides, "baseline": self.sides[role]})

    def without_baseline(self) -> World:
        return replace(self, sides={role: side for role, side in self.sides.items() if role != "baseline"})

    def undefended(self) -> World:
        """A pair without a defense: its attacked run is the baseline's, and no baseline is given."""
        attacked = self.sides["baseline"]
        system = attacked.value["system"]
        benign = replace(self.sides["benign"], value={**self.sides["benign"].value, "system": system})
        return replace(self, sides={"benign": benign, "attacked": attacked})

    # changes to ledgers

    def set(self, which: Which, where: Where = None, **columns: Any) -> World:
        """Set columns of the rows that `where` picks; a value may be an expression."""

        def change(side: Side) -> Side:
            picked = _mask(side.frame, where)
            frame = side.frame.with_columns(
                pl.when(picked)
                .then(value if isinstance(value, pl.Expr) else pl.lit(value, dtype=side.frame.schema[name]))
                .otherwise(pl.col(name))
                .cast(side.frame.schema[name])
                .alias(name)
                for name, value in columns.items()
            )
            return replace(side, frame=in_canonical_order(frame))

        return self._changed(which, change)

    def drop_cells(self, which: Which, where: Where = None) -> World:
        """Remove rows."""
        return self._changed(which, lambda side: replace(side, frame=side.frame.filter(~_mask(side.frame, where))))

    def repeat(self, which: Which, where: Where = None, **columns: Any) -> World:
        """Add copies of rows, with some columns changed: a repeated cell, a further attempt, a cell nobody planned."""

        def change(side: Side) -> Side:
            copies = replace(side, frame=side.frame.filter(_mask(side.frame, where)))
            changed = World(self.suite, {"attacked": copies}).set("attacked", **columns).frame("attacked")
            return replace(side, frame=in_canonical_order(pl.concat([side.frame, changed])))

        return self._changed(which, change)

    def abort(self, which: Which, where: Where = None, status: str = "infra_error") -> World:
        """Cells in which something else than the agent failed: status, and no verdict."""
        return self.set(which, where, status=status, utility=None, attack_success=None, error="503 from the provider")

    def epochs(self, count: int) -> World:
        """Every cell `count` times: epochs 2 and up repeat epoch 1, each with one outcome in four turned round."""
        numbers = [{"epoch": number, "seed": 100 + number} for number in range(1, count + 1)]

        def change(side: Side) -> Side:
            first = side.frame.filter(pl.col("epoch") == 1)
            turned = pl.int_range(pl.len()) % 4
            again = [
                first.with_columns(
                    pl.lit(number, dtype=pl.Int64).alias("epoch"),
                    pl.col("utility") ^ (turned == number % 4),
                    pl.Series(
                        "transcript_digest", [digest_of_text(f"{one} {number}") for one in first["transcript_digest"]]
                    ),
                )
                for number in range(2, count + 1)
            ]
            return Side({**side.value, "epochs": numbers}, in_canonical_order(pl.concat([first, *again])))

        return self._changed("all", change).edit_suite("/epochs", count)

    def _changed(self, which: Which, change: Callable[[Side], Side]) -> World:
        roles = {"pair": ("benign", "attacked"), "all": tuple(self.sides)}.get(which, (which,))
        return replace(self, sides={role: change(side) if role in roles else side for role, side in self.sides.items()})


_REMOVED = object()


def _mask(frame: pl.DataFrame, where: Where) -> pl.Series:
    if where is None:
        return pl.repeat(True, frame.height, eager=True)
    if isinstance(where, int):
        return pl.Series([row < where for row in range(frame.height)], dtype=pl.Boolean)
    return frame.select(where.fill_null(False).alias("picked"))["picked"]


def _with(document: Mapping[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """A copy with the place at an RFC 6901 pointer set or removed; every parent of it must be there."""
    changed: Any = copy.deepcopy(dict(document))
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/"))
    place = changed
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    key: Any = int(last) if isinstance(place, list) else last
    if value is _REMOVED:
        del place[key]
    else:
        place[key] = copy.deepcopy(value)
    return dict(changed)
