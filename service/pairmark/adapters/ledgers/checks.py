"""What an episode's values must satisfy, over whole columns; agrees with the `Episode` model, which words the refusals."""

from __future__ import annotations

import unicodedata

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


def acceptable(frame: pl.DataFrame) -> bool:
    """True when every row of a frame with the columns of `EPISODE_SCHEMA` is an episode."""
    if not frame.height:
        return True
    if any(frame[name].null_count() for name in _REQUIRED):
        return False
    return (
        all(_within(frame[name], low) for name, low in _MINIMA.items())
        and all(_are_ids(frame[name]) for name in _IDS)
        and all(_are_digests(frame[name]) for name in _DIGESTS)
        and _at_most(frame["error"], _ERROR_CHARACTERS)
    )


def _within(column: pl.Series, low: int) -> bool:
    least, most = column.min(), column.max()
    if least is None or most is None:
        return True
    return bool(least >= low and most <= MAX_SAFE_INTEGER)  # type: ignore[operator]  # of an integer column


def _at_most(column: pl.Series, characters: int) -> bool:
    longest = column.str.len_bytes().max()
    if longest is None or longest <= characters:  # type: ignore[operator]  # of an integer column
        return True
    return not bool((column.str.len_chars() > characters).any())


def _are_ids(column: pl.Series) -> bool:
    ids = column.unique()  # few, as a rule
    if bool((ids.str.len_bytes() == 0).any()) or not _at_most(ids, _ID_CHARACTERS):
        return False
    return not bool(ids.str.contains(r"[\x00-\x1f\x7f]").any())


def _are_digests(column: pl.Series) -> bool:
    present = column.drop_nulls()
    if not len(present):
        return True
    if bool((present.str.len_bytes() != _DIGEST_LENGTH).any()) or not bool(present.str.starts_with("sha256:").all()):
        return False
    letters = np.frombuffer(present.str.join("").item().encode(), dtype=np.uint8)
    # Unsigned differences wrap around, so that one comparison tests both ends of a range.
    hexadecimal = (letters - np.uint8(ord("0")) < 10) | (letters - np.uint8(ord("a")) < 6)
    return int(np.count_nonzero(hexadecimal)) == _DIGEST_HEX * len(present)


# The only characters whose normal form is ASCII are U+037E (;), U+1FEF (`) and U+212A (K): an ASCII id
# without these letters collides with nothing and need not be remembered.
_MAY_COLLIDE = r"[;`K]|[^\x00-\x7f]"


class IdCollisions:
    """Refuses ids of one kind that differ as written but become equal under Unicode normalisation (NFC)."""

    def __init__(self, kind: str, *, file: str | None, limits: Limits) -> None:
        self.kind, self.file, self.limits = kind, file, limits
        self._seen: dict[str, str] = {}

    def add(self, column: pl.Series, first_line: int) -> None:
        """Note the ids of a column whose first row stands at `first_line`; Malformed when one collides."""
        ids = column.unique(maintain_order=True)
        suspects = ids.filter(ids.str.contains(_MAY_COLLIDE))
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
