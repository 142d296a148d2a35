"""How rules say things: expected, found, what to do; counts and first examples as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.errors import one_line
from pairmark.rules.base import FIRST_CELLS, Judgement
from pairmark.stats.exact import decimal_string

MESSAGE_LIMIT = 8000


def passed(message: str, evidence: Mapping[str, EvidenceValue] | None = None, flags: tuple[str, ...] = ()) -> Judgement:
    """The rule holds."""
    return Judgement("passed", one_line(message, MESSAGE_LIMIT), {} if evidence is None else evidence, flags)


def failed(
    expected: str, found: Sequence[str], remedy: str, evidence: Mapping[str, EvidenceValue] | None = None
) -> Judgement:
    """The rule does not hold; `found` lists every reason, at least one."""
    message = f"expected {expected}; found {'; '.join(found)}; {remedy}"
    return Judgement("failed", one_line(message, MESSAGE_LIMIT), {} if evidence is None else evidence)


def counted(number: int, noun: str) -> str:
    """`1 cell`, `3 cells`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], total: int | None = None, limit: int = 3) -> str:
    """`a, b, c and 7 more`; `total` where `names` holds only the first."""
    rest = (len(names) if total is None else total) - len(names[:limit])
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest else "")


def share_text(share: Fraction | None) -> EvidenceValue:
    """A share as evidence shows it: exact, and as six decimals; null where it is out of nothing."""
    if share is None:
        return None
    return {"fraction": f"{share.numerator}/{share.denominator}", "value": decimal_string(share)}


def first(names: Sequence[str]) -> tuple[str, ...]:
    """The first examples a finding lists."""
    return tuple(names[:FIRST_CELLS])
