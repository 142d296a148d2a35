"""What happened in every planned cell of a released pair, in both arms; and its pairs of outcomes, by kind or cell, in pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from pairmark.app.certify import Claim, Evidence, evidence_of
from pairmark.app.open_episodes import require_open_episodes
from pairmark.app.ports import Ledgers, Tables
from pairmark.app.read_certificate import certificate_of_id
from pairmark.app.read_certification import certification_of_id
from pairmark.domain.evidence import Arm, Experiment, Role
from pairmark.domain.flip_list import FlipList, flip_list
from pairmark.domain.plan import Codes

FlipKind = Literal["lost", "gained", "kept", "neither"]
KINDS: tuple[FlipKind, ...] = ("lost", "gained", "kept", "neither")
KEPT = 4
LARGEST_KEPT = 1_000_000
"""Episodes up to which the outcomes of a pair stay in memory."""

_kept: dict[str, CertificateCells] = {}
"""By certificate id. A released pair never changes."""


@dataclass(frozen=True)
class PairOfOutcomes:
    """One benign and one attacked outcome of a cell and epoch."""

    task: str
    injection: str
    epoch: int
    kind: FlipKind


@dataclass(frozen=True, eq=False)
class CertificateCells:
    """The outcomes of a released pair. Every array has one entry per planned attacked cell, in the plan's order.

    A cell's counts are over epochs: pairs of outcomes by kind, and attack successes among the episodes whose attack
    success is known. What of the declared epochs is in no kind has no pair: an outcome that is not known or was not made.
    """

    experiment: Experiment

    @property
    def epochs(self) -> int:
        """Declared epochs of the attacked run."""
        return len(self.experiment.attacked.run.epochs)

    @cached_property
    def _flips(self) -> FlipList:
        return flip_list(self.experiment.pairing)

    @cached_property
    def counts(self) -> dict[FlipKind, Codes]:
        """How many pairs of each kind, by cell."""
        cell = self.experiment.pairing.epoch_pairs.cell
        return {kind: np.bincount(cell[self._flips.by_kind[kind]], minlength=self.experiment.plan.cells) for kind in KINDS}

    @cached_property
    def attack_success(self) -> Codes:
        """Attack successes, by cell."""
        return self.experiment.pairing.attack_success.successes

    @cached_property
    def attack_success_known(self) -> Codes:
        """Episodes whose attack success is known, by cell."""
        return self.experiment.pairing.attack_success.known

    def pairs(self, kinds: Sequence[FlipKind], task: str | None, injection: str | None, start: int, limit: int) -> tuple[list[PairOfOutcomes], int | None]:
        """Up to `limit` pairs from place `start` of those that fit, in the order of the list of flips; and where more begin."""
        plan, pairs = self.experiment.plan, self.experiment.pairing.epoch_pairs
        wanted = np.ones(plan.cells, dtype=np.bool_)
        for name, ids, code in ((task, plan.task_ids, plan.cell_task), (injection, plan.injection_ids, plan.cell_injection)):
            if name is not None:
                wanted &= code == (ids.index(name) if name in ids else -1)
        found: list[PairOfOutcomes] = []
        skip = start
        for kind in kinds:
            entries = self._flips.by_kind[kind]
            entries = entries[wanted[pairs.cell[entries]]]
            some = entries[skip : skip + limit + 1 - len(found)]
            skip = max(0, skip - len(entries))
            cells = pairs.cell[some]
            epochs = self.experiment.attacked_cells.epoch[pairs.rows(some)]
            found += [
                PairOfOutcomes(plan.task_ids[plan.cell_task[cell]], plan.injection_ids[plan.cell_injection[cell]], epoch, kind)
                for cell, epoch in zip(cells.tolist(), epochs.tolist(), strict=True)
            ]
        return found[:limit], start + limit if len(found) > limit else None


def open_cells_evidence(tables: Tables, certificate_id: str) -> Evidence:
    """The same for all that its episodes say.

    Raises:
        NotFound: no such certificate.
        NotPermitted: it was published without its episodes.
    """
    found = cells_evidence(tables, certificate_id)
    for run, _, _ in found.runs.values():
        require_open_episodes(tables, run.id)
    return found


def cells_evidence(tables: Tables, certificate_id: str) -> Evidence:
    """The documents behind a certificate, whatever became of it.

    Raises:
        NotFound: no such certificate.
    """
    found = certification_of_id(tables, certificate_of_id(tables, certificate_id).certification)
    return evidence_of(tables, Claim(found.benign, found.attacked, None, found.policy, found.manifest))


def certificate_cells(certificate_id: str, evidence: Evidence, ledgers: Ledgers) -> CertificateCells:
    """The outcomes of a released pair; kept for a few certificates, since people look at one for a while."""
    there = _kept.get(certificate_id)
    if there is not None:
        return there

    def arm(role: Role) -> Arm:
        _, seal, run = evidence.runs[role]
        return Arm(role, run, seal.document, ledgers.outcomes(seal.ledger), seal.ledger)

    found = CertificateCells(Experiment(evidence.suite, evidence.suite_digest, arm("benign"), arm("attacked"), None))
    if evidence.episodes <= LARGEST_KEPT:
        if len(_kept) >= KEPT:
            _kept.pop(next(iter(_kept)), None)
        _kept[certificate_id] = found
    return found
