"""Blocks of source columns to blocks of the ledger, by a mapping. One pass; every value is looked up once for each block."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from pairmark.domain.canonical import DIGEST_PREFIX
from pairmark.domain.episodes import EPISODE_SCHEMA
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.base import ArmName
from pairmark.importers.generic import meanings
from pairmark.importers.generic.cells import looked_up
from pairmark.importers.generic.facts import RunFacts
from pairmark.importers.generic.tally import Tally
from pairmark.importers.mapping import Condition, Mapping, Verdict

_MOST_NAMED = 8


def source_columns(mapping: Mapping, arm: ArmName) -> list[str]:
    """Every source column that is read, once each."""
    columns = mapping.columns
    parts = [getattr(columns, name) for name in type(columns).model_fields]
    parts += [getattr(mapping.run, name) for name in type(mapping.run).model_fields] if mapping.run is not None else []
    named = [name for part in parts if part is not None for name in _names_of(part)]
    named += [given.column for given in conditions(mapping, arm)]
    if mapping.attack is not None and mapping.attack.column is not None:
        named.append(mapping.attack.column)
    return list(dict.fromkeys(named))


def _names_of(part: Any) -> Iterator[str]:
    if part.column is not None:
        yield part.column
    elif getattr(part, "columns", None) is not None:
        yield from part.columns


def conditions(mapping: Mapping, arm: ArmName) -> tuple[Condition, ...]:
    """What must hold of a row of the arm."""
    rows = () if mapping.arms is None else (mapping.arms.benign if arm == "benign" else mapping.arms.attacked).where
    return (*(mapping.where or ()), *rows)


class Columns:
    """Takes blocks of raw columns of one arm, gives blocks with the columns of `EPISODE_SCHEMA`."""

    def __init__(self, mapping: Mapping, arm: ArmName, attack: str | None, epoch: int) -> None:
        self._mapping, self._arm, self._attack, self._epoch = mapping, arm, attack, epoch
        self.tallies: dict[str, Tally] = {}
        self.facts = RunFacts()
        self.attacks: dict[str | None, int] = {}
        self.left_out = 0
        meanings.check_patterns(mapping.columns.status.patterns)

    def take(self, raw: pl.DataFrame, file: str, text_only: bool) -> pl.DataFrame:
        """The rows of the arm, in file order.

        Raises:
            Malformed: a row without a task, epoch or status.
        """
        forms = meanings.Forms(text_only)
        kept = self._rows_of_the_arm(raw, forms)
        self.left_out += raw.height - kept.height
        columns, height = self._mapping.columns, kept.height
        blank = pl.Series("", [None] * height, dtype=pl.String)
        found: dict[str, pl.Series] = {"task_id": self._identity("task_id", kept, forms)}
        found["injection_id"] = blank if columns.injection_id is None else self._identity("injection_id", kept, forms)
        found["epoch"] = self._epochs(kept)
        found["status"] = self._statuses(kept, forms, file)
        aborted = found["status"].is_in(["infra_error", "cancelled"])
        for name in ("utility", "attack_success", "delivered"):
            given: Verdict | None = getattr(columns, name)
            if given is not None and (name == "utility" or self._arm == "attacked"):
                inverted = getattr(given, "polarity", None) == "attacker-failed"
                meant = looked_up(kept[given.column], meanings.verdict(given, forms, inverted), pl.Boolean())
                if given.aborted == "unknown":
                    meant = meant.zip_with(~aborted, pl.Series([None], dtype=pl.Boolean).new_from_index(0, height))
                self._tally(name, f"{given.column}, whose true says that the attacker failed" if inverted else given.column).add(kept[given.column], meant, apart=aborted if given.aborted == "unknown" else None)
                found[name] = meant
        if columns.attacker_actions is not None and self._arm == "attacked":
            found["attacker_actions"] = self._looked_up(
                "attacker_actions", kept, columns.attacker_actions.column, meanings.count, pl.Int64()
            )
        if columns.served_model is not None:
            told = columns.served_model
            found["served_model"] = (
                pl.Series([told.constant]).new_from_index(0, height)
                if told.column is None
                else self._looked_up("served_model", kept, told.column, lambda v: meanings.text(v) or None, pl.String())
            )
        if columns.duration is not None:
            found["duration_ms"] = self._looked_up(
                "duration_ms", kept, columns.duration.column, meanings.milliseconds(columns.duration.unit), pl.Int64()
            )
        if columns.error is not None:
            none = forms.of(columns.error.none)
            found["error"] = self._looked_up(
                "error", kept, columns.error.column, lambda v: meanings.error_text(v, none), pl.String()
            )
        for name in ("task_digest", "transcript_digest"):
            if getattr(columns, name) is not None:
                found[name] = self._looked_up(name, kept, getattr(columns, name).column, meanings.text, pl.String())
        if columns.transcript is not None:
            column = kept[columns.transcript.column]
            found["transcript_digest"] = pl.Series([_digest(value) for value in column], dtype=pl.String)
            self._tally("transcript_digest", columns.transcript.column).add(None, found["transcript_digest"])
        if columns.attempt is not None:
            found["attempt"] = self._ordinals("attempt", kept, columns.attempt)
        self._collect_facts(kept, found["epoch"])
        self._check_present(found, file)
        absent = {name: pl.Series([None]).new_from_index(0, height) for name in EPISODE_SCHEMA if name not in found}
        ordered = {name: found.get(name, absent.get(name)) for name in EPISODE_SCHEMA}
        return pl.DataFrame(ordered).cast(dict(EPISODE_SCHEMA)).with_columns(pl.col("attempt").fill_null(1))  # type: ignore[arg-type]

    def _rows_of_the_arm(self, raw: pl.DataFrame, forms: meanings.Forms) -> pl.DataFrame:
        kept = raw
        for given in conditions(self._mapping, self._arm):
            kept = kept.filter(looked_up(kept[given.column], meanings.condition(given, forms), pl.Boolean()))
        told = self._mapping.attack
        if self._arm == "attacked" and told is not None and told.column is not None:
            names = looked_up(kept[told.column], meanings.text, pl.String())
            for name, rows in names.to_frame("n").group_by("n").len().rows():
                self.attacks[name] = self.attacks.get(name, 0) + rows
            if self._attack is not None:
                kept = kept.filter(names.eq_missing(pl.Series([self._attack])))
        return kept

    def _tally(self, target: str, source: str | None) -> Tally:
        return self.tallies.setdefault(target, Tally(target, source))

    def _looked_up(
        self, target: str, kept: pl.DataFrame, column: str, meaning: Callable[[Any], Any], kind: pl.DataType
    ) -> pl.Series:
        meant = looked_up(kept[column], meaning, kind)
        self._tally(target, column).add(kept[column], meant)
        return meant

    def _identity(self, name: str, kept: pl.DataFrame, forms: meanings.Forms) -> pl.Series:
        given = getattr(self._mapping.columns, name)
        meaning = meanings.identity(given, forms)
        parts = [looked_up(kept[column], meaning, pl.String()) for column in given.sources]
        frame = pl.DataFrame({str(place): part for place, part in enumerate(parts)})
        joined = frame.select(pl.concat_str(pl.all(), separator=given.join or "")).to_series()  # null if any part is
        meant = joined if given.prefix is None else joined.to_frame("v").select(pl.lit(given.prefix) + pl.col("v")).to_series()
        self._tally(name, ", ".join(given.sources)).add(kept[given.sources[0]] if len(parts) == 1 else None, meant)
        return meant

    def _epochs(self, kept: pl.DataFrame) -> pl.Series:
        given = self._mapping.columns.epoch
        if given is None:
            return pl.Series([self._epoch], dtype=pl.Int64).new_from_index(0, kept.height)
        if given.seeds is None:
            return self._ordinals("epoch", kept, given)
        number_of = {seed: number for number, seed in enumerate(given.seeds, 1)}
        return self._looked_up("epoch", kept, given.column, lambda v: number_of.get(meanings.integer(v)), pl.Int64())  # type: ignore[arg-type]

    def _ordinals(self, name: str, kept: pl.DataFrame, given: Any) -> pl.Series:
        if given.column is None:
            return pl.Series([given.constant], dtype=pl.Int64).new_from_index(0, kept.height)

        def meaning(value: Any) -> int | None:
            found = meanings.integer(value)
            return None if found is None or found < given.first else found - given.first + 1

        return self._looked_up(name, kept, given.column, meaning, pl.Int64())

    def _statuses(self, kept: pl.DataFrame, forms: meanings.Forms, file: str) -> pl.Series:
        given = self._mapping.columns.status
        if given.column is None:
            found = pl.Series([given.constant]).new_from_index(0, kept.height)
            self._tally("status", None).add(None, found)
            return found
        listed = looked_up(kept[given.column], meanings.status(given, forms), pl.String())
        frame = pl.DataFrame({"raw": kept[given.column], "listed": listed})
        found = frame.select(pl.coalesce("listed", meanings.by_patterns(given, pl.col("raw")))).to_series()
        tally = self._tally("status", given.column)
        tally.add(kept[given.column], found)
        if found.null_count():
            values = ", ".join(f"{value} in {rows} rows" for value, rows in tally.undecided()[:_MOST_NAMED])
            raise Malformed(
                "unmapped-status", f"expected every value of {shown(given.column)} to mean a status, found {values}", file,
                remedy="list it under a status in the mapping, or say what `otherwise` is",
            )  # fmt: skip
        return found

    def _collect_facts(self, kept: pl.DataFrame, epochs: pl.Series) -> None:
        columns, run = self._mapping.columns, self._mapping.run
        if columns.seed is not None:
            self.facts.add_seeds(epochs, looked_up(kept[columns.seed.column], meanings.integer, pl.Int64()))
        for name in type(run).model_fields if run is not None else ():
            source = getattr(run, name)
            if source is not None:
                self.facts.add(name, kept[source.column])

    def _check_present(self, found: dict[str, pl.Series], file: str) -> None:
        for name in ("task_id", "epoch", "attempt"):
            if name in found and found[name].null_count() and (name != "attempt" or self.tallies[name].undecided()[0][0] != "null"):
                unlisted = ", ".join(value for value, _ in self.tallies[name].undecided()[:_MOST_NAMED]) or "null"
                raise Malformed(
                    "unmapped-cell", f"expected a value of `{name}` in every row, found {found[name].null_count()} without: {unlisted}",
                    file, remedy="correct the mapping, or leave the rows out with `where`",
                )  # fmt: skip


def _digest(value: str | None) -> str | None:
    """SHA-256 of a transcript: of a string its UTF-8 bytes, of a JSON value its compact form with sorted keys."""
    if value is None:
        return None
    text = value[1:]
    if value[0] == "j":
        text = json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return DIGEST_PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
