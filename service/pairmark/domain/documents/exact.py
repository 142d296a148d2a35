"""An exact number as the documents write it: a fraction, and its six-place decimal."""

from __future__ import annotations

from fractions import Fraction
from typing import Self

from pairmark.domain.documents.base import Strict
from pairmark.domain.documents.metric_values import Decimal6, ExactFraction
from pairmark.stats.exact import decimal_string


class Exact(Strict):
    """An exact number: a share, a rate or a difference of them, in the range that its place names."""

    value: Decimal6
    fraction: ExactFraction

    @classmethod
    def of(cls, number: Fraction) -> Self:
        return cls(value=decimal_string(number), fraction=f"{number.numerator}/{number.denominator}")
