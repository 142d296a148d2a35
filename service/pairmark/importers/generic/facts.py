"""What holds for the whole run: columns that must have one value, and one seed for each epoch."""

from __future__ import annotations

from typing import Any

import polars as pl

from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.generic import meanings
from pairmark.importers.generic.cells import json_text, scalar_of
from pairmark.importers.mapping import RunColumns, Scalar

_SHOWN_CHARACTERS = 60
_TEXTS = ("requested_model", "provider", "harness_version")


class RunFacts:
    """Collects over the blocks of an arm. Null says nothing: a row that broke off may lack what others have."""

    def __init__(self) -> None:
        self._values: dict[str, set[str]] = {}
        self._seeds: dict[int, set[int | None]] = {}

    def add(self, name: str, column: pl.Series) -> None:
        """The values of a run column.

        Raises:
            Malformed: there are two.
        """
        seen = self._values.setdefault(name, set())
        seen.update(column.drop_nulls().unique())
        if len(seen) > 1:
            listed = " and ".join(sorted(json_text(scalar_of(value, name))[:_SHOWN_CHARACTERS] for value in seen)[:2])
            raise Malformed(
                f"mixed-{name.replace('_', '-')}s", f"expected one value of {shown(column.name)} in one run, found {listed}",
                remedy="choose the rows of one run with `where`",
            )  # fmt: skip

    def add_seeds(self, epochs: pl.Series, seeds: pl.Series) -> None:
        """The seeds of rows, by epoch.

        Raises:
            Malformed: an epoch has two.
        """
        for epoch, seed in pl.DataFrame({"e": epochs, "s": seeds}).unique().rows():
            found = self._seeds.setdefault(epoch, set())
            found.add(seed)
            if len(found) > 1:
                raise Malformed(
                    "mixed-seeds", f"expected one seed in epoch {epoch}, found {' and '.join(map(str, found))}",
                    remedy="an epoch is one seed: tell epochs by their seeds, or leave `seed` out",
                )  # fmt: skip

    def seed_of(self, epoch: int) -> int | None:
        """The one seed of an epoch, or null."""
        return next(iter(self._seeds.get(epoch, {None})))

    def recorded(self, run: RunColumns | None) -> dict[str, Any]:
        """`model`, `decoding` and `system_prompt_digest` as far as they are known, and `harness_version`."""
        said = {name: self._value(name, run) for name in self._values}
        known = {name: value for name, value in said.items() if value is not None}
        decoding = {
            name: value
            for name, meaning in (("temperature", meanings.number), ("top_p", meanings.number), ("max_tokens", meanings.integer))
            if name in known and (value := meaning(known[name])) is not None
        }
        texts = {name: meanings.text(known[name]) for name in _TEXTS if name in known}
        prompt = known.get("system_prompt")
        return {
            "model": {"requested": texts.get("requested_model"), "provider": texts.get("provider")},
            "decoding": decoding,
            "system_prompt_digest": digest_of_bytes(str(prompt).encode()) if prompt is not None else None,
            "harness_version": texts.get("harness_version"),
        }

    def _value(self, name: str, run: RunColumns | None) -> Scalar:
        source = getattr(run, name)
        return scalar_of(next(iter(self._values[name]), None), source.column)
