"""Comparing what two runs recorded: by value, as RFC 8785 text, and nothing equals what was not recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.documents.run import REQUIRED_DECODING_KEYS, Attack, Decoding, Harness, Run, Scaffold
from pairmark.domain.evidence import Arm
from pairmark.rules.base import Judgement
from pairmark.rules.wording import counted, failed, listed, passed

NOT_RECORDED = "not recorded"
RECORDED = "recorded"
NOT_SET = "not set"
SHOWN_CHARACTERS = 120
FIRST_FIELDS = 20


def recorded(value: Any) -> str | None:
    """RFC 8785 text of a value (0 and 0.0 are one, true and 1 are two), or None for a null: not recorded."""
    return None if value is None else _text(value)


def recorded_or_none_used(value: Any) -> str:
    """The same where null is itself a fact: none was sent, or none was used."""
    return _text(value)


def _text(value: Any) -> str:
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return canonical_bytes(plain).decode()


@dataclass(frozen=True)
class Compared:
    """One field of two arms, as text; None is not recorded. `must_differ` turns the question round."""

    field: str
    left: str | None
    right: str | None
    must_differ: bool = False

    @property
    def holds(self) -> bool:
        if self.left is None or self.right is None:
            return False
        return (self.left != self.right) if self.must_differ else (self.left == self.right)


@dataclass(frozen=True)
class Comparison:
    """Fields of two arms side by side."""

    left: str
    right: str
    fields: tuple[Compared, ...]

    @property
    def broken(self) -> tuple[Compared, ...]:
        return tuple(field for field in self.fields if not field.holds)

    def texts(self) -> list[str]:
        """One phrase for each of the first fields that do not hold, and how many more there are."""
        more = len(self.broken) - FIRST_FIELDS
        return [*map(self._text, self.broken[:FIRST_FIELDS]), *([f"{counted(more, 'more field')}"] if more > 0 else [])]

    def _text(self, field: Compared) -> str:
        if field.left is None or field.right is None:
            where = [name for name, text in ((self.left, field.left), (self.right, field.right)) if text is None]
            return f"{field.field} {NOT_RECORDED} in the {' and the '.join(where)} run"
        if field.must_differ:
            same = _shown(field.left)
            return f"{field.field} {same} in the {self.left} run as in the {self.right} run, and it must differ"
        return (
            f"{field.field} {_shown(field.left)} in the {self.left} run, {_shown(field.right)} in the {self.right} run"
        )

    def evidence(self) -> dict[str, EvidenceValue]:
        """How many fields were compared, how many do not hold, and both values of the first of these."""
        return {
            "compared": len(self.fields),
            "differing": len(self.broken),
            "broken": {
                field.field: {self.left: _shown_or_not(field.left), self.right: _shown_or_not(field.right)}
                for field in self.broken[:FIRST_FIELDS]
            },
        }


def judge_comparison(expected: str, comparison: Comparison, remedy: str) -> Judgement:
    """Passed where every field holds, failed otherwise."""
    if comparison.broken:
        return failed(expected, comparison.texts(), remedy, comparison.evidence())
    names = listed([field.field for field in comparison.fields], limit=FIRST_FIELDS)
    message = f"recorded and equal in the {comparison.left} and the {comparison.right} run: {names}"
    return passed(message, comparison.evidence())


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _shown_or_not(text: str | None) -> str:
    return NOT_RECORDED if text is None else _shown(text)


def _whole(field: str, left: object, right: object) -> Compared:
    """Whether a part is recorded at all; what it holds is compared key by key."""
    return Compared(field, None if left is None else RECORDED, None if right is None else RECORDED)


def decoding_fields(left: Decoding | None, right: Decoding | None) -> tuple[Compared, ...]:
    """Every decoding key that is required or that either run recorded; a null value means that nothing was sent."""
    if left is None or right is None:
        return (_whole("decoding", left, right),)
    there, here = left.recorded(), right.recorded()
    keys = (*REQUIRED_DECODING_KEYS, *sorted((there.keys() | here.keys()) - set(REQUIRED_DECODING_KEYS)))
    return tuple(
        Compared(
            f"decoding.{_shown(key)}",
            recorded_or_none_used(there[key]) if key in there else None,
            recorded_or_none_used(here[key]) if key in here else None,
        )
        for key in keys
    )


def scaffold_text(scaffold: Scaffold | None) -> str | None:
    """A scaffold without a name or a version is not recorded."""
    return None if scaffold is None or scaffold.name is None or scaffold.version is None else _text(scaffold)


def limits_fields(left: Run, right: Run) -> tuple[Compared, ...]:
    """Every limit that either run records; `{}` is recorded, and says that there are none."""
    there, here = left.system.limits, right.system.limits
    if there is None or here is None:
        return (_whole("limits", there, here),)
    keys = sorted(there.keys() | here.keys())
    return (
        _whole("limits", there, here),
        *(
            Compared(
                f"limits.{_shown(key)}",
                recorded_or_none_used(there[key]) if key in there else NOT_SET,
                recorded_or_none_used(here[key]) if key in here else NOT_SET,
            )
            for key in keys
        ),
    )


def harness_fields(left: Harness, right: Harness) -> tuple[Compared, ...]:
    """Name, version and image; a null image means that none was used, and a null name or version is not recorded."""
    return (
        Compared("harness.name", recorded(left.name), recorded(right.name)),
        Compared("harness.version", recorded(left.version), recorded(right.version)),
        Compared("harness.image", recorded_or_none_used(left.image), recorded_or_none_used(right.image)),
    )


def attack_fields(left: Attack | None, right: Attack | None) -> tuple[Compared, ...]:
    """Name and digest; two null digests under one name are equal."""
    if left is None or right is None:
        return (_whole("attack", left, right),)
    return (
        Compared("attack.name", recorded(left.name), recorded(right.name)),
        Compared("attack.digest", recorded_or_none_used(left.digest), recorded_or_none_used(right.digest)),
    )


def served_models(arm: Arm) -> tuple[str, ...]:
    """The snapshots that answered: what the run document says and what any line of the ledger says, sorted."""
    model = arm.run.system.model
    declared = () if model is None or model.served is None else model.served
    answered = arm.ledger["served_model"]
    # Neighbours mostly agree: what changes is little, and holds every model.
    changes = answered.filter(answered.ne_missing(answered.shift(1)))
    return tuple(sorted({*declared, *changes.drop_nulls().unique().to_list()}))


def served_field(left: Arm, right: Arm) -> Compared:
    """The snapshots that answered, none at all being not recorded."""
    here, there = (served_models(arm) for arm in (left, right))
    return Compared("served model", _models(here), _models(there))


def _models(models: tuple[str, ...]) -> str | None:
    if not models:
        return None
    if len(models) <= FIRST_FIELDS:
        return _text(models)
    return f"{len(models)} models ({digest_of(models)}), {_text(models[:3])} among them"
