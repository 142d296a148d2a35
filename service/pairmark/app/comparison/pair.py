"""One side of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pairmark.app.history_entry import DEFINITION
from pairmark.domain.documents.comparison import ComparedSide, ComparedSystem
from pairmark.domain.documents.report import Report
from pairmark.domain.errors import Conflict
from pairmark.domain.evidence import Experiment
from pairmark.domain.pairing import Pairing
from pairmark.rules.recorded import served_models


@dataclass(frozen=True, eq=False)
class CertifiedPair:
    """A certified pair with its evidence. `certificate` is its id, None for one read from files.

    Raises Conflict `not-certified` for any other verdict: its numbers are not released, so they cannot be compared.
    """

    experiment: Experiment
    report: Report
    certificate: str | None = None
    definition: str = DEFINITION

    def __post_init__(self) -> None:
        if self.report.verdict != "certified":
            raise Conflict(
                "not-certified",
                f"expected two certified pairs, found one that is {self.report.verdict}",
                "look at its findings, or at its figures with `pairmark tally`",
            )

    @cached_property
    def pairing(self) -> Pairing:
        return Pairing(self.experiment)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The snapshots that answered, by run document and ledger."""
        return served_models(self.experiment.attacked)

    def side(self) -> ComparedSide:
        """What an answer says about this side."""
        return ComparedSide(
            certificate=self.certificate,
            suite=self.report.suite,
            policy=self.report.policy,
            runs=self.report.runs,
            flags=self.report.flags,
            system=self.system(),
        )

    def system(self) -> ComparedSystem:
        run = self.experiment.attacked.run
        defenses = run.system.defenses
        return ComparedSystem(
            models=self.models,
            provider=None if run.system.model is None else run.system.model.provider,
            defenses=None if defenses is None else tuple(named(item.name, item.version) for item in defenses),
            attack=None if run.attack is None else run.attack.name,
            harness=named(run.harness.name, run.harness.version),
            scaffold=None
            if run.system.scaffold is None
            else named(run.system.scaffold.name, run.system.scaffold.version),
        )


def named(name: str | None, version: str | None) -> str:
    """A name with its version; what was not recorded is a question mark."""
    return f"{name or '?'} {version or '?'}" if version is not None or name is None else name
