"""How much a reader takes before it refuses with `too-large`; every limit is here, and named in the error."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.domain.errors import Malformed

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True)
class Limits:
    """Bounds on what is read from outside.

    Attributes:
        document: bytes of a suite, run or policy file.
        line: bytes of one line of a ledger without its newline (in Parquet: of one row's text).
        ledger: bytes of a whole ledger after decompression (in Parquet: as the footer declares, and of its text).
        chunk: bytes that one column of one Parquet row group expands to, as the footer declares.
        archive: bytes of what a packed bundle expands to.
        members: entries in an archive.
        rows: episodes in a ledger.
        ids: distinct ids of one kind that have to be remembered to find collisions under Unicode normalisation.
    """

    document: int = 64 * MIB
    line: int = 2 * MIB
    ledger: int = 8 * GIB
    chunk: int = 256 * MIB
    archive: int = 8 * GIB
    members: int = 64
    rows: int = 50_000_000
    ids: int = 500_000


DEFAULT_LIMITS = Limits()


def too_large(name: str, limit: int, *, file: str | None = None, line: int | None = None, unit: str = "bytes") -> Malformed:
    """The refusal of something larger than `Limits.<name>`."""
    return Malformed(
        "too-large", f"expected at most {limit} {unit} (limit `{name}`), found more", file, line,
        remedy="split it, or read it with a higher limit",
    )
