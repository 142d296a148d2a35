"""The right edge of a growing Merkle tree: all that appending a leaf, and the root, need of what came before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pairmark.provenance.merkle import EMPTY_ROOT, node_hash


def places(size: int) -> list[tuple[int, int]]:
    """(level, index) of the largest complete subtrees that a tree of `size` leaves is made of, from left to right."""
    found: list[tuple[int, int]] = []
    start = 0
    for level in reversed(range(size.bit_length())):
        if size >> level & 1:
            found.append((level, start >> level))
            start += 1 << level
    return found


@dataclass
class Frontier:
    """A tree of `size` leaves by the hashes at `places(size)`."""

    size: int = 0
    peaks: list[bytes] = field(default_factory=list)

    @classmethod
    def of(cls, size: int, peaks: Sequence[bytes]) -> Frontier:
        """Raises ValueError unless there is one hash for each place."""
        if len(peaks) != size.bit_count():
            raise ValueError(f"expected {size.bit_count()} hashes for {size} leaves, found {len(peaks)}")
        return cls(size, list(peaks))

    def root(self) -> bytes:
        """Root over all leaves (RFC 9162, 2.1.1)."""
        if not self.peaks:
            return EMPTY_ROOT
        current = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            current = node_hash(peak, current)
        return current

    def append(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Add a leaf hash; the complete subtrees that are new, as (level, index, hash), the leaf first."""
        level, index, current = 0, self.size, leaf
        made = [(level, index, current)]
        while index & 1:
            current = node_hash(self.peaks.pop(), current)
            level, index = level + 1, index >> 1
            made.append((level, index, current))
        self.peaks.append(current)
        self.size += 1
        return made
