"""What two certified pairs differ in, beside their outcomes, and which of it forbids a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pairmark.app.comparison.pair import CertifiedPair
from pairmark.domain.documents.comparison import FieldDifference
from pairmark.domain.documents.run import Change, Defense, Run
from pairmark.rules.recorded import (
    Compared,
    attack_fields,
    decoding_fields,
    harness_fields,
    limits_fields,
    recorded,
    recorded_or_none_used,
    scaffold_text,
)


@dataclass(frozen=True, eq=False)
class Differing:
    """The fields of two pairs side by side. What is recorded on neither side is not known to be equal."""

    left: CertifiedPair
    right: CertifiedPair

    @cached_property
    def suite(self) -> tuple[Compared, ...]:
        left, right = self.left.experiment, self.right.experiment
        return (
            Compared("suite.digest", left.suite_digest, right.suite_digest),
            Compared("suite.name", left.suite.suite, right.suite.suite),
            Compared("weighting", left.suite.weighting, right.suite.weighting),
            Compared("metric definition", self.left.definition, self.right.definition),
        )

    @cached_property
    def attack(self) -> tuple[Compared, ...]:
        return attack_fields(self._left_run.attack, self._right_run.attack)

    @cached_property
    def defenses(self) -> Compared:
        left, right = self._left_run.system.defenses, self._right_run.system.defenses
        return Compared("system.defenses", _defenses_text(left), _defenses_text(right))

    @cached_property
    def system(self) -> tuple[Compared, ...]:
        """All of the system but its defenses."""
        left, right = self._left_run.system, self._right_run.system
        providers = [None if part.model is None else part.model.provider for part in (left, right)]
        here, there = (recorded_or_none_used(provider) for provider in providers)
        return (
            Compared("served model", _models_text(self.left.models), _models_text(self.right.models)),
            Compared("system.provider", here, there),
            *decoding_fields(left.decoding, right.decoding),
            Compared("system.tools", left.tools_digest, right.tools_digest),
            Compared("system.system_prompt", left.system_prompt_digest, right.system_prompt_digest),
            Compared("system.scaffold", scaffold_text(left.scaffold), scaffold_text(right.scaffold)),
            *limits_fields(self._left_run, self._right_run),
        )

    @cached_property
    def around(self) -> tuple[Compared, ...]:
        """Harness, epochs and policy."""
        left, right = self.left.report.policy, self.right.report.policy
        here, there = (
            recorded([item.model_dump() for item in run.epochs]) for run in (self._left_run, self._right_run)
        )
        return (
            *harness_fields(self._left_run.harness, self._right_run.harness),
            Compared("epochs", here, there),
            Compared(
                "policy", f"{left.name}/{left.version} {left.digest}", f"{right.name}/{right.version} {right.digest}"
            ),
        )

    @cached_property
    def broken(self) -> tuple[Compared, ...]:
        """Every field that differs or is not known to be equal."""
        fields = (*self.suite, *self.attack, *self.system, self.defenses, *self.around)
        return tuple(field for field in fields if not field.holds)

    @cached_property
    def fields(self) -> tuple[FieldDifference, ...]:
        return tuple(FieldDifference(field=field.field, left=field.left, right=field.right) for field in self.broken)

    @property
    def same_mix(self) -> bool:
        return self.suite[0].holds

    @property
    def same_attack(self) -> bool:
        return all(field.holds for field in self.attack)

    @property
    def same_system(self) -> bool:
        """One system and one defense: a rerun, or the same under another attack."""
        return all(field.holds for field in (*self.system, self.defenses))

    @cached_property
    def not_one_system(self) -> tuple[str, ...]:
        """Fields in which this is not one system before and after a defense; what the defenses change is forgiven."""
        changed = self._changed_by_defenses()
        forgiven = {
            "system.tools": "tools" in changed,
            "system.system_prompt": "system_prompt" in changed,
            "system.scaffold": "scaffold" in changed,
        }
        return tuple(field.field for field in self.system if not field.holds and not forgiven.get(field.field, False))

    def _changed_by_defenses(self) -> set[Change]:
        return {
            change
            for run in (self._left_run, self._right_run)
            for defense in run.system.defenses or ()
            for change in defense.changes
        }

    @property
    def _left_run(self) -> Run:
        return self.left.experiment.attacked.run

    @property
    def _right_run(self) -> Run:
        return self.right.experiment.attacked.run


def _defenses_text(defenses: Sequence[Defense] | None) -> str | None:
    return None if defenses is None else recorded([item.model_dump(mode="json") for item in defenses])


def _models_text(models: tuple[str, ...]) -> str | None:
    return recorded(list(models)) if models else None
