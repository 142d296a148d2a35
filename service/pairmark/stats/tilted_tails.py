"""Tails of a sum of independent hypergeometric counts, in floats, for any number of blocks.

A plain Fourier convolution has an absolute error of 1e-16, in which small tails drown. So the distribution is tilted
exponentially until its mean is the observed sum, where the transform is accurate, and the tilt is divided out of the
tail term by term (Keich, J. Computational Biology 12, 2005, does so for sums of equal terms). Logarithms are returned,
so that a tail below 1e-308 is not 0. Against `block_tails.exact_tails` the relative error is 1e-12 for thousands of
blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from pairmark.stats.arrays import FloatArray, IntArray, sums_by
from pairmark.stats.block_tails import BlockKinds

_CHUNK_CELLS = 2**20


@dataclass(frozen=True, slots=True)
class LogTails:
    """Natural logarithms of the three probabilities of `block_tails.exact_tails`, each at most 0."""

    at_least: float
    at_most: float
    exactly: float


def log_tails(kinds: BlockKinds) -> LogTails:
    """The tails in floats. Relative error of the smaller one about 1e-12, at worst 1e-9 for a million blocks."""
    if kinds.span == 0:
        return LogTails(0.0, 0.0, 0.0)
    terms = _Terms.of(kinds)
    count = kinds.count.astype(np.float64)
    if kinds.observed in (0, kinds.span):
        ends = terms.start if kinds.observed == 0 else np.append(terms.start[1:], terms.value.size) - 1
        edge = min(0.0, math.fsum((count * terms.log_mass[ends]).tolist()))
        return LogTails(0.0, edge, edge) if kinds.observed == 0 else LogTails(edge, 0.0, edge)

    tilt = _balance(terms, count, kinds.observed)
    log_norm, tilted = terms.tilted(tilt)
    base = math.fsum((count * log_norm).tolist()) - tilt * kinds.observed
    around = _mass_around(terms, tilted, kinds)
    if tilt >= 0:
        reach = _reach(kinds.span - kinds.observed, kinds.span, around.size)
        side = around[: reach + 1]
    else:
        reach = _reach(kinds.observed, kinds.span, around.size)
        side = around[-np.arange(reach + 1)]
    damping = np.exp(-abs(tilt) * np.arange(reach + 1))
    exactly = min(0.0, base + math.log(around[0]))
    smaller = min(0.0, base + math.log(math.fsum((side * damping).tolist())))
    # The two tails overlap in the observed value: they add up to 1 plus its probability.
    larger = min(0.0, math.log1p(math.exp(exactly) - math.exp(smaller)) if smaller < 0 else 0.0)
    return LogTails(smaller, larger, exactly) if tilt >= 0 else LogTails(larger, smaller, exactly)


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """All possible counts of all kinds in one flat table, sorted by kind."""

    value: FloatArray
    """Count above the kind's least."""
    log_mass: FloatArray
    """Its log probability."""
    kind: IntArray
    start: IntArray
    """First row of each kind."""

    @classmethod
    def of(cls, kinds: BlockKinds) -> Self:
        low = np.maximum(0, kinds.drawn + kinds.marked - kinds.size)
        width = np.minimum(kinds.drawn, kinds.marked) - low + 1
        start = np.concatenate([[0], np.cumsum(width)[:-1]])
        kind = np.repeat(np.arange(width.size), width)
        value = np.arange(kind.size) - start[kind]
        # Ratio of neighbours, from the value below; the first of a kind has none. Exact in integers, then one log.
        j = (low[kind] + value - 1).astype(np.float64)
        size, drawn, marked = (c.astype(np.float64)[kind] for c in (kinds.size, kinds.drawn, kinds.marked))
        first = value == 0
        up = np.where(first, 1.0, (marked - j) * (drawn - j))
        down = np.where(first, 1.0, (j + 1) * (size - marked - drawn + j + 1))
        steps = np.cumsum(np.log(up / down))
        log_mass = steps - steps[start][kind]
        terms = cls(value.astype(np.float64), log_mass, kind, start)
        log_norm, _ = terms.tilted(0.0)
        return cls(terms.value, log_mass - log_norm[kind], kind, start)

    def tilted(self, tilt: float) -> tuple[FloatArray, FloatArray]:
        """Per kind log sum(mass exp(tilt value)), and the masses tilted so and normalised."""
        exponent = self.log_mass + tilt * self.value
        peak = np.maximum.reduceat(exponent, self.start)
        raw = np.exp(exponent - peak[self.kind])
        total = np.add.reduceat(raw, self.start)
        return peak + np.log(total), raw / total[self.kind]

    def mean(self, mass: FloatArray, count: FloatArray) -> float:
        """Mean of the sum over all blocks when the terms have these masses."""
        return math.fsum((count * np.add.reduceat(mass * self.value, self.start)).tolist())

    def variance(self, mass: FloatArray, count: FloatArray) -> float:
        """Variance of the sum likewise."""
        means = np.add.reduceat(mass * self.value, self.start)
        deviations = self.value - means[self.kind]
        return math.fsum((count * np.add.reduceat(mass * deviations * deviations, self.start)).tolist())


def _balance(terms: _Terms, count: FloatArray, observed: int) -> float:
    """The tilt under which the mean is the observed sum, strictly inside its range; the mean rises with the tilt."""

    def below(tilt: float) -> bool:
        return terms.mean(terms.tilted(tilt)[1], count) < observed

    low, high = -1.0, 1.0
    while below(high):
        high *= 2
    while not below(low):
        low *= 2
    # Any tilt gives the same tail; near the balance it is accurate.
    for _ in range(60):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
        if high - low <= 1e-9 * max(1.0, abs(low)):
            break
    return (low + high) / 2


def _mass_around(terms: _Terms, tilted: FloatArray, kinds: BlockKinds) -> FloatArray:
    """P(sum = observed + k) under the tilt, at index k, negative k from the end; wrapped where it is negligible."""
    count = kinds.count.astype(np.float64)
    variance = terms.variance(tilted, count)
    # Bernstein: beyond this distance of the mean lies less than exp(-50).
    distance = 50 / 3 + math.sqrt((50 / 3) ** 2 + 100 * variance)
    length = 1 << math.ceil(math.log2(min(2 * distance + 4, kinds.span + 1)))
    mode = np.zeros(kinds.count.size, dtype=np.int64)
    peak = np.maximum.reduceat(tilted, terms.start)
    at_peak = np.flatnonzero(tilted == peak[terms.kind])
    mode[terms.kind[at_peak]] = terms.value[at_peak].astype(np.int64)

    # Transform of each kind around its mode, so that phases stay small and survive the multiplication by its count.
    log_size, phase = np.zeros(length // 2 + 1), np.zeros(length // 2 + 1)
    place = (terms.value.astype(np.int64) - mode[terms.kind]) % length
    bounds = np.append(terms.start, terms.kind.size)
    step = max(1, _CHUNK_CELLS // length)
    for begin in range(0, kinds.count.size, step):
        end = min(begin + step, kinds.count.size)
        rows = slice(int(bounds[begin]), int(bounds[end]))
        cells = (terms.kind[rows] - begin) * length + place[rows]
        table = sums_by(cells, tilted[rows], (end - begin) * length)
        transform = np.fft.rfft(table.reshape(end - begin, length), axis=1)
        with np.errstate(divide="ignore"):
            log_size += (count[begin:end, None] * np.log(np.abs(transform))).sum(axis=0)
        phase += (count[begin:end, None] * np.angle(transform)).sum(axis=0)
    shift = int((kinds.count * mode).sum()) - kinds.observed
    phase -= 2 * math.pi / length * ((shift * np.arange(length // 2 + 1)) % length)
    return np.fft.irfft(np.exp(log_size) * (np.cos(phase) + 1j * np.sin(phase)), n=length)


def _reach(wanted: int, span: int, length: int) -> int:
    """How many steps to one side the wrapped distribution holds."""
    return wanted if length > span else min(wanted, length // 2 - 1)
