"""How much a reader takes before it refuses with `too-large`; every limit is here, and named in the error."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.domain.errors import Malformed

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True)
class Limits:
    """Bounds on what is read from outside, in bytes unless said otherwise.

    Attributes:
        document: a suite, run or policy file.
        line: one line of a ledger, without its newline.
        ledger: a whole ledger, after decompression.
        archive: the packed archive, and the sum of what its members expand to.
        members: entries in an archive (a count).
        rows: episodes in a ledger (a count).
    """

    document: int = 64 * MIB
    line: int = 2 * MIB
    ledger: int = 8 * GIB
    archive: int = 8 * GIB
    members: int = 64
    rows: int = 50_000_000


DEFAULT_LIMITS = Limits()


def too_large(name: str, limit: int, *, file: str | None = None, line: int | None = None, unit: str = "bytes") -> Malformed:
    """The refusal of something larger than `Limits.<name>`."""
    return Malformed(
        "too-large", f"expected at most {limit} {unit} (limit `{name}`), found more", file, line,
        remedy="split it, or raise the limit where you run Pairmark yourself",
    )
