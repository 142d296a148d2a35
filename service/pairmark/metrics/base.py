"""What a metric is. A metric is one file of this package with a module-level `METRIC`; adding one touches nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from pairmark.domain.documents.metric_values import MetricValue
from pairmark.domain.pairing import Pairing

Value = BaseModel | tuple[BaseModel, ...] | MetricValue
Direction = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Metric:
    """A released number.

    Attributes:
        key: where it stands in the report's `metrics`, dotted for a nested place (`conditioned.on_delivery`).
        title: plain words.
        formula: the formula, in words and symbols.
        source: where formula and name come from.
        denominator: what it is out of, in words.
        direction: which way is better for the defender.
        compute: pure; returns a document value, `Undefined` for an empty denominator.
        flags: report flags that this metric raises for a pairing.
        example: a hand-checked case that a contract test runs: (pairing, expected JSON value).
    """

    key: str
    title: str
    formula: str
    source: str
    denominator: str
    direction: Direction
    compute: Callable[[Pairing], Value]
    example: Callable[[], tuple[Pairing, object]]
    flags: Callable[[Pairing], tuple[str, ...]] = lambda pairing: ()
