"""What an episode's values must satisfy, over whole columns; agrees with the `Episode` model, which words the refusals."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import numpy as np
import polars as pl

from pairmark.adapters.ledgers.limits import Limits, too_large
from pairmark.domain.errors import Malformed
from pairmark.domain.strict_json import MAX_SAFE_INTEGER

_IDS = ("task_id", "injection_id", "served_model")
_DIGESTS = ("task_digest", "transcript_digest")
_MINIMA = {"epoch": 1, "attempt": 1, "attacker_actions": 0, "duration_ms": 0}
_REQUIRED = ("task_id", "epoch", "status", "attempt")
_ID_CHARACTERS = 1024
_ERROR_CHARACTERS = 1_000_000

# Of the 71 characters of a digest all but `s`, `h` and `:` are hexadecimal digits.
_DIGEST_LENGTH, _DIGEST_HEX = 71, 68


def _faults() -> Iterator[pl.Expr]:
    """One truth value each: whether a column holds something that no episode may have. Null where it holds nothing."""
    for name in _REQUIRED:
        yield pl.col(name).is_null().any().alias(f"{name} null")
    for name, low in _MINIMA.items():
        yield ((pl.col(name).min() < low) | (pl.col(name).max() > MAX_SAFE_INTEGER)).alias(f"{name} range")
    for name in _IDS:
        ids = pl.col(name).unique().str  # few, as a rule
        yield (ids.len_bytes() == 0).any().alias(f"{name} empty")
        yield (ids.len_chars() > _ID_CHARACTERS).any().alias(f"{name} long")
        yield ids.contains(r"[\x00-\x1f\x7f]").any().alias(f"{name} control")
    for name in _DIGESTS:
        text = pl.col(name).str
        yield ((text.len_bytes() != _DIGEST_LENGTH) | ~text.starts_with("sha256:")).any().alias(f"{name} shape")
    yield (pl.col("error").str.len_bytes().max() > _ERROR_CHARACTERS).alias("error long")


_any_fault = pl.any_horizontal(*_faults())


def acceptable(frame: pl.DataFrame) -> bool:
    """True when every row of a frame with the columns of `EPISODE_SCHEMA` surely is an episode.

    An `error` longer in bytes than it may be in characters is left to the model.
    """
    if not frame.height:
        return True
    return not frame.select(_any_fault).item() and all(_are_hexadecimal(frame[name]) for name in _DIGESTS)


def _are_hexadecimal(column: pl.Series) -> bool:
    """For texts that have the length and the first letters of a digest."""
    letters = np.frombuffer((column.str.join("").item() or "").encode(), dtype=np.uint8)
    # Unsigned differences wrap around, so that one comparison tests both ends of a range.
    hexadecimal = (letters - np.uint8(ord("0")) < 10) | (letters - np.uint8(ord("a")) < 6)
    return int(np.count_nonzero(hexadecimal)) == _DIGEST_HEX * (len(column) - column.null_count())


# The only characters whose normal form is ASCII are U+037E (;), U+1FEF (`) and U+212A (K): an ASCII id
# without these letters collides with nothing and need not be remembered.
_suspects = pl.first().unique(maintain_order=True)
_suspects = _suspects.filter(_suspects.str.contains(r"[;`K]|[^\x00-\x7f]"))


class IdCollisions:
    """Refuses ids of one kind that differ as written but become equal under Unicode normalisation (NFC)."""

    def __init__(self, kind: str, *, file: str | None, limits: Limits) -> None:
        self.kind, self.file, self.limits = kind, file, limits
        self._seen: dict[str, str] = {}

    def add(self, column: pl.Series, first_line: int) -> None:
        """Note the ids of a column whose first row stands at `first_line`; Malformed when one collides."""
        suspects = column.to_frame().select(_suspects).to_series()
        for identifier in suspects:
            earlier = self._seen.setdefault(unicodedata.normalize("NFC", identifier), identifier)
            if earlier != identifier:
                place = (column == identifier).arg_max()
                raise Malformed(
                    "id-collision",
                    "expected ids that stay distinct under Unicode normalisation, "
                    f"found {identifier!a} after {earlier!a}",
                    self.file, first_line + (place or 0), f"/{self.kind}", "use one spelling of the id",
                )
        if len(self._seen) > self.limits.ids:
            raise too_large("ids", self.limits.ids, file=self.file, unit=f"distinct {self.kind}s to normalise")
