"""What an episode's values must satisfy, over whole columns; agrees with the `Episode` model, which words the refusals."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import polars as pl

from pairmark.adapters.ledgers.limits import Limits, too_large
from pairmark.domain.errors import Malformed
from pairmark.domain.strict_json import MAX_SAFE_INTEGER

ID_COLUMNS = ("task_id", "injection_id", "served_model")
_DIGESTS = ("task_digest", "transcript_digest")
_MINIMA = {"epoch": 1, "attempt": 1, "attacker_actions": 0, "duration_ms": 0}
_REQUIRED = ("task_id", "epoch", "status", "attempt")
_ERROR_CHARACTERS = 1_000_000
_KNOWN_IDS = 100_000

_is_id = re.compile(r"[^\x00-\x1f\x7f]{1,1024}").fullmatch
# The only characters whose normal form is ASCII are U+037E (;), U+1FEF (`) and U+212A (K): an ASCII id
# without these letters collides with nothing and need not be remembered.
_may_collide = re.compile(r"[;`K]|[^\x00-\x7f]").search

# Of the 71 characters of a digest all but `s`, `h` and `:` are hexadecimal digits.
_DIGEST_LENGTH, _DIGEST_HEX = 71, 68
_wrong_text = pl.any_horizontal(
    pl.col("error").str.len_bytes().max() > _ERROR_CHARACTERS,
    *(
        ((pl.col(name).str.len_bytes() != _DIGEST_LENGTH) | ~pl.col(name).str.starts_with("sha256:")).any()
        for name in _DIGESTS
    ),
)


class ColumnChecks:
    """Judges the columns of one ledger's frames, each id once, and refuses ids that collide.

    Two ids of one kind collide when they differ as written but are equal under Unicode normalisation (NFC).
    """

    def __init__(self, *, file: str | None, limits: Limits) -> None:
        self._file, self._limits = file, limits
        self._known: set[str | None] = {None}
        self._normal: dict[str, dict[str, str]] = {"task_id": {}, "injection_id": {}}
        self._any_may_collide = False

    def acceptable(self, frame: pl.DataFrame) -> bool:
        """True when every row of a frame with the columns of `EPISODE_SCHEMA` surely is an episode.

        In doubt False: an `error` longer in bytes than it may be in characters is left to the model.
        """
        ids: set[str | None] = set().union(*(frame[name].unique() for name in ID_COLUMNS))
        return self.acceptable_ids(ids) and acceptable_values(frame)

    def acceptable_ids(self, ids: set[str | None]) -> bool:
        """True when each is an id (or null)."""
        fresh = ids - self._known
        for identifier in fresh:
            if identifier is None or _is_id(identifier) is None:
                return False
            self._any_may_collide = self._any_may_collide or _may_collide(identifier) is not None
        if len(self._known) + len(fresh) > _KNOWN_IDS:  # judging again costs less than remembering without end
            self._known = {None}
        self._known |= fresh
        return True

    def refuse_collisions(self, frame: pl.DataFrame, first_line: int) -> None:
        """Raise Malformed when an id collides with another of this frame or an earlier one. Call it for every frame."""
        if not self._any_may_collide:
            return
        for kind, normal in self._normal.items():
            column = frame[kind]
            for identifier in column.unique(maintain_order=True).drop_nulls():
                if _may_collide(identifier) is None:
                    continue
                earlier = normal.setdefault(unicodedata.normalize("NFC", identifier), identifier)
                if earlier != identifier:
                    raise self._collision(kind, identifier, earlier, first_line + ((column == identifier).arg_max() or 0))
            if len(normal) > self._limits.ids:
                raise too_large("ids", self._limits.ids, file=self._file, unit=f"distinct {kind}s to normalise")

    def _collision(self, kind: str, identifier: str, earlier: str, line: int) -> Malformed:
        return Malformed(
            "id-collision",
            f"expected ids that stay distinct under Unicode normalisation, found {identifier!a} after {earlier!a}",
            self._file, line, f"/{kind}", "use one spelling of the id",
        )


def acceptable_values(frame: pl.DataFrame) -> bool:
    """As `ColumnChecks.acceptable`, for everything but ids."""
    if any(frame[name].null_count() for name in _REQUIRED):
        return False
    if not all(_within(frame[name], low) for name, low in _MINIMA.items()):
        return False
    return not frame.select(_wrong_text).item() and all(_are_hexadecimal(frame[name]) for name in _DIGESTS)


def _within(column: pl.Series, low: int) -> bool:
    least, most = column.min(), column.max()
    if least is None or most is None:
        return True
    return bool(least >= low and most <= MAX_SAFE_INTEGER)  # type: ignore[operator]  # of an integer column


def _are_hexadecimal(column: pl.Series) -> bool:
    """For texts that have the length and the first letters of a digest."""
    letters = np.frombuffer((column.str.join("").item() or "").encode(), dtype=np.uint8)
    # Unsigned differences wrap around, so that one comparison tests both ends of a range.
    hexadecimal = (letters - np.uint8(ord("0")) < 10) | (letters - np.uint8(ord("a")) < 6)
    return int(np.count_nonzero(hexadecimal)) == _DIGEST_HEX * (len(column) - column.null_count())
