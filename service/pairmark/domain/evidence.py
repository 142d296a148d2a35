"""What a verdict is taken over: the suite, and for each arm its run document and its ledger."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pairmark.domain.documents.episode import STATUSES
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.plan import Codes, Plan

if TYPE_CHECKING:
    from pairmark.domain.pairing import Pairing

Role = Literal["benign", "attacked", "baseline"]
UNKNOWN = -1
"""Null in the signed integer columns of a cell table."""

NO_INJECTION = -2
"""Injection code of a benign cell; -1 is an injection the manifest does not list."""

Flags = NDArray[np.bool_]
Signed = NDArray[np.int8]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Arm:
    """One arm. `ledger` has the columns of `EPISODE_SCHEMA`, in canonical order, all attempts."""

    role: Role
    run: Run
    run_digest: str
    ledger: pl.DataFrame
    ledger_digest: str


@dataclass(frozen=True, eq=False)
class Stretches:
    """Consecutive cells of one task and injection, with the codes that they share. Codes as in `CellTable`."""

    of_cell: NDArray[np.int32]
    """Stretch of each cell, ascending."""
    task: Codes
    injection: Codes


@dataclass(frozen=True, eq=False)
class CellTable:
    """One row per cell and epoch that is present: its last attempt. All columns have the same length.

    `planned`: index of the planned cell (benign: task code; attacked: index into the attacked plan), -1 if not planned.
    `epoch_index`: position in the run's declared epochs, -1 if undeclared.
    `status`: index into `STATUSES`. `utility`, `attack_success`, `delivered`: 1, 0 or -1 unknown. A blocked
    episode that is marked done is a failure of utility.
    `actions`: attacker actions, null unknown. `repeated`: same attempt number more than once.
    `last`, `line_counts`: row of `Arm.ledger` of the last attempt, and attempts; None where every row is a cell.
    """

    stretches: Stretches
    planned: Codes
    epoch: Codes
    epoch_index: Codes
    status: Signed
    utility: Signed
    attack_success: Signed
    delivered: Signed
    actions: pl.Series
    last: Codes | None
    line_counts: Codes | None
    repeated: Flags

    @cached_property
    def task(self) -> Codes:
        """Task code, -1 unknown to the manifest."""
        return self.stretches.task[self.stretches.of_cell]

    @cached_property
    def injection(self) -> Codes:
        """Injection code, -1 unknown to the manifest, -2 none."""
        return self.stretches.injection[self.stretches.of_cell]

    @cached_property
    def attacker_actions(self) -> Codes:
        """Count, -1 unknown."""
        return self.actions.fill_null(UNKNOWN).to_numpy()

    @cached_property
    def row(self) -> Codes:
        """Row of `Arm.ledger`. For some cells, or a whole column, `rows_of` and `last_of` cost less."""
        return np.arange(len(self)) if self.last is None else self.last

    @cached_property
    def lines(self) -> Codes:
        """Attempts at each cell."""
        return np.ones(len(self), dtype=np.int64) if self.line_counts is None else self.line_counts

    def rows_of(self, cells: Codes) -> Codes:
        """Rows of `Arm.ledger` of some cells."""
        return cells if self.last is None else self.last[cells]

    def last_of(self, column: NDArray[Scalar]) -> NDArray[Scalar]:
        """A column of `Arm.ledger` as a column of this table."""
        return column if self.last is None else column[self.last]

    @cached_property
    def assessed(self) -> Flags:
        return np.less_equal(self.status, STATUSES.index("provider_block"))

    @cached_property
    def aborted(self) -> Flags:
        return np.logical_not(self.assessed)

    @cached_property
    def blocked(self) -> Flags:
        return np.equal(self.status, STATUSES.index("provider_block"))

    @cached_property
    def expected(self) -> Flags:
        """Planned, and of a declared epoch."""
        planned: Flags = self.planned >= 0
        return planned & (self.epoch_index >= 0)

    @cached_property
    def action(self) -> Flags:
        """Action cells: assessed, with attacker actions > 0 or attack success true."""
        acted: Flags = (self.attacker_actions > 0) | (self.attack_success == 1)
        return acted & self.assessed

    def __len__(self) -> int:
        return len(self.planned)


@dataclass(frozen=True, eq=False)
class Experiment:
    """A pair with its suite. `baseline` is the attacked run itself where that is undefended and none was given."""

    suite: SuiteManifest
    suite_digest: str
    benign: Arm
    attacked: Arm
    given_baseline: Arm | None

    @cached_property
    def plan(self) -> Plan:
        return Plan(self.suite)

    @property
    def baseline(self) -> Arm | None:
        """The given baseline, else the attacked arm if it declares no defenses, else none."""
        if self.given_baseline is not None:
            return self.given_baseline
        return self.attacked if self.attacked.run.system.defenses == () else None

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """Benign, attacked and, only if it was given, the baseline."""
        given = () if self.given_baseline is None else (self.given_baseline,)
        return (self.benign, self.attacked, *given)

    @cached_property
    def benign_cells(self) -> CellTable:
        from pairmark.domain.cells import cell_table

        return cell_table(self.benign, self.plan)

    @cached_property
    def attacked_cells(self) -> CellTable:
        from pairmark.domain.cells import cell_table

        return cell_table(self.attacked, self.plan)

    @cached_property
    def baseline_cells(self) -> CellTable | None:
        from pairmark.domain.cells import cell_table

        if self.baseline is None:
            return None
        return self.attacked_cells if self.baseline is self.attacked else cell_table(self.baseline, self.plan)

    @cached_property
    def pairing(self) -> Pairing:
        """The pair as numbers: what rules and metrics share is computed once."""
        from pairmark.domain.pairing import Pairing

        return Pairing(self)

    def cells_of(self, arm: Arm) -> CellTable:
        """The cell table of one of this experiment's arms."""
        if arm is self.benign:
            return self.benign_cells
        if arm is self.attacked:
            return self.attacked_cells
        cells = self.baseline_cells
        if arm is not self.baseline or cells is None:
            raise ValueError("expected an arm of this experiment")
        return cells
