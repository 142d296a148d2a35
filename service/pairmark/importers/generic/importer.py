"""From files of a home-made harness and a mapping to a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import EPISODE_SCHEMA, in_canonical_order
from pairmark.domain.errors import Malformed, shown
from pairmark.importers import mapping as mappings
from pairmark.importers.base import ArmName, Example, Fact, Imported, Recorded, Understood
from pairmark.importers.epochs import check_epoch_number, refuse_copies
from pairmark.importers.generic.columns import Columns, source_columns
from pairmark.importers.generic.examples import EXAMPLES
from pairmark.importers.generic.facts import RunFacts
from pairmark.importers.generic.files import MAPPING_FILE, NOT_READ, Source, left_over, mapping_in, sources
from pairmark.importers.generic.jsonl import jsonl_frames
from pairmark.importers.generic.records import records_by
from pairmark.importers.generic.stream import plain_chunks
from pairmark.importers.generic.tables import csv_frames, parquet_frames
from pairmark.importers.system_file import agreed, check_system_file, run_epochs, run_harness, run_system

MAX_ROWS = 50_000_000
_MOST_NAMED = 8
_MOST_PLACES = 1_000_000
_LISTED = ("utility", "attack_success", "delivered")


@dataclass(frozen=True)
class GenericImporter:
    """Reads CSV, JSON Lines and Parquet as a mapping explains them; without one, the folder's own `pairmark-mapping.yaml`."""

    name: str = "generic"
    title: str = "home-made harnesses: CSV, JSON Lines or Parquet with a mapping"
    looks_for: str = f"a folder with {MAPPING_FILE}, or a mapping named beside the files"
    examples: tuple[Example, ...] = EXAMPLES
    mapping: mappings.Mapping | None = None

    @property
    def records(self) -> Mapping[Fact, Recorded]:
        """What the mapping tells; without one, what a mapping could."""
        return records_by(self.mapping)

    def with_mapping(self, mapping: Mapping[str, Any], *, file: str | None = None) -> GenericImporter:
        """The importer of files that are as `mapping` says.

        Raises:
            Malformed: it is no mapping.
        """
        return replace(self, mapping=mappings.check_mapping(mapping, file=file))

    def for_paths(self, paths: Sequence[Path]) -> GenericImporter:
        """With the mapping that lies in the folder, where none was given.

        Raises:
            Malformed: there is none, or it is no mapping.
        """
        return replace(self, mapping=self._mapping(paths))

    def recognises(self, paths: Sequence[Path]) -> bool:
        try:
            mapping = self._mapping(paths)
            return bool(paths) and bool(sources(paths, mapping, [])) and all(path.exists() for path in paths)
        except (Malformed, OSError, ValueError):
            return False

    def read(
        self,
        paths: Sequence[Path],
        *,
        suite: SuiteManifest,
        suite_digest: str,
        arm: ArmName,
        attack: str | None = None,
        epoch: int | None = None,
        system: Mapping[str, Any] | None = None,
    ) -> Imported:
        given = dict(system or {})
        check_system_file(given)
        check_epoch_number(epoch)
        mapping = self._mapping(paths)
        _check_arm(mapping, arm, attack, epoch)
        outward: list[Path] = []
        columns = Columns(mapping, arm, attack, epoch or 1)
        frames: list[pl.DataFrame] = []
        places: list[pl.DataFrame] = []
        rows = 0
        named = sources(paths, mapping, outward)
        for source in named:
            for frame in _frames(source, mapping, arm):
                frames.append(columns.take(frame, str(source.path), source.format == "csv"))
                rows += frames[-1].height
                if rows <= _MOST_PLACES:
                    places.append(_places(frames[-1], source.path))
                if rows > MAX_ROWS:
                    raise Malformed("too-large", f"expected at most {MAX_ROWS} rows, found more", str(source.path), remedy="split the run")
        if not rows:
            raise Malformed(
                "no-episodes", f"expected rows of the {arm} arm, found none of {columns.left_out} rows", str(paths[0]),
                remedy="check `where` and `arms` in the mapping, and the attack",
            )  # fmt: skip
        ledger = in_canonical_order(pl.concat(frames))
        refuse_copies(ledger)
        name = None if arm == "benign" else _attack(mapping, columns, attack)
        run = {
            "schema": "pairmark/run/v1",
            "arm": arm,
            "suite": {"name": suite.suite, "digest": suite_digest},
            "attack": None if name is None else {"name": name, "digest": None},
            **_system(mapping, columns.facts, given),
            "epochs": run_epochs(given.get("epochs"), _epochs(mapping, columns.facts, ledger)),
            "retries": given.get("retries") or {"max_attempts": None},
            "started_at": given.get("started_at"),
            "finished_at": given.get("finished_at"),
            "episodes": None,
        }
        set_aside = {"rows of other arms": columns.left_out, "links that leave the folder": len(outward)}
        set_aside[NOT_READ] = left_over(paths, [source.path for source in named])
        return Imported(
            run, ledger, (), {kind: count for kind, count in set_aside.items() if count}, tuple(_notes(mapping, columns)),
            tuple(_understood(columns)), pl.concat(places) if rows <= _MOST_PLACES else None,
        )  # fmt: skip

    def _mapping(self, paths: Sequence[Path]) -> mappings.Mapping:
        if self.mapping is not None:
            return self.mapping
        beside = mapping_in(paths)
        if beside is None:
            raise Malformed(
                "no-mapping", f"expected a mapping that says what the columns mean, found none and no {MAPPING_FILE} in the folder",
                None if not paths else str(paths[0]), remedy="write one (docs/mapping.md) and name it with --mapping",
            )  # fmt: skip
        return mappings.check_mapping(mappings.parse_mapping(_small(beside), file=str(beside)), file=str(beside))


def _places(ledger: pl.DataFrame, file: Path) -> pl.DataFrame:
    cells = ledger.select("task_id", "injection_id", "epoch", "attempt")
    return cells.with_columns(pl.lit(str(file)).alias("file"), pl.lit(None, dtype=pl.Int64).alias("line"))


def _small(path: Path) -> bytes:
    from pairmark.importers.mapping_yaml import MAX_BYTES

    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _check_arm(mapping: mappings.Mapping, arm: ArmName, attack: str | None, epoch: int | None) -> None:
    if arm == "benign" and attack is not None:
        raise Malformed("usage", f"expected no attack in a benign arm, found {shown(attack)}", remedy="leave it out")
    if epoch is not None and mapping.columns.epoch is not None:
        raise Malformed("usage", "expected epochs from the mapping's column, found a number beside it", remedy="leave the number out")
    if arm == "attacked" and mapping.columns.injection_id is None:
        raise Malformed(
            "no-injections", "expected `injection_id` in the mapping of an attacked arm, found none", pointer="/columns/injection_id",
            remedy="say which column names the injection",
        )  # fmt: skip


def _frames(source: Source, mapping: mappings.Mapping, arm: ArmName) -> Iterator[pl.DataFrame]:
    wanted = source_columns(mapping, arm)
    file = str(source.path)
    if source.format == "parquet":
        return parquet_frames(source.path, wanted)
    if source.format == "csv":
        delimiter = "," if mapping.csv is None else mapping.csv.delimiter
        return csv_frames(plain_chunks(source.path), wanted, file=file, delimiter=delimiter)
    return jsonl_frames(plain_chunks(source.path), wanted, file=file)


def _attack(mapping: mappings.Mapping, columns: Columns, attack: str | None) -> str:
    """The attack's name: the constant, the only one in the column, or the one that was asked for."""
    told = mapping.attack
    if told is not None and told.constant is not None:
        return str(agreed(told.constant, attack, "/attack/name"))
    if told is not None:
        names = sorted((name for name in columns.attacks if name is not None), key=str)
        if attack is not None:
            return attack
        if len(columns.attacks) != 1 or not names:
            listed = ", ".join(map(shown, names[:_MOST_NAMED])) or "none"
            unnamed = f" and rows without a name: {columns.attacks[None]}" if None in columns.attacks else ""
            raise Malformed(
                "mixed-attacks", f"expected one attack, found {listed}{unnamed}: two attacks are two runs",
                remedy="name one with --attack",
            )  # fmt: skip
        return names[0]
    if attack is None:
        raise Malformed(
            "no-attack-name", "expected the name of the attack, found none", pointer="/attack",
            remedy="say `attack` in the mapping, or name it with --attack",
        )  # fmt: skip
    return attack


def _system(mapping: mappings.Mapping, facts: RunFacts, given: Mapping[str, Any]) -> dict[str, Any]:
    """`system` and `harness`: what the columns tell joins what was given, key by key."""
    recorded = facts.recorded(mapping.run)
    told = dict(given.get("system") or {})
    for part in ("model", "decoding"):
        known = {key: value for key, value in recorded[part].items() if value is not None}
        beside = told.get(part) or {}
        both = {**known, **{key: agreed(known.get(key), value, f"/system/{part}/{key}") for key, value in beside.items()}}
        if known or part in told:
            told[part] = both if told.get(part) is not None or known else None
    system = run_system(told, {"system_prompt_digest": recorded["system_prompt_digest"]})
    version = agreed(recorded["harness_version"], mapping.harness.version, "/harness/version")
    return {"system": system, "harness": run_harness(given.get("harness"), name=mapping.harness.name, version=version)}


def _epochs(mapping: mappings.Mapping, facts: RunFacts, ledger: pl.DataFrame) -> dict[int, int | None]:
    told = mapping.columns.epoch
    numbers = ledger["epoch"].unique().sort().to_list()
    if told is not None and told.seeds is not None:
        return {number: told.seeds[number - 1] for number in numbers}
    return {number: facts.seed_of(number) for number in numbers}


def _notes(mapping: mappings.Mapping, columns: Columns) -> Iterator[str]:
    for name in _LISTED:
        tally = columns.tallies.get(name)
        given = getattr(mapping.columns, name)
        if tally is None:
            continue
        known = {mappings.form_of(value) for value in given.unknown or ()}
        odd = [(value, rows) for value, rows in tally.undecided() if value != "null" and not _is_known(value, known)]
        if odd:
            listed = ", ".join(f"{value} in {rows}" for value, rows in odd[:_MOST_NAMED])
            yield f"values of {given.column} that the mapping does not list, so that {name} is unknown: {listed} rows"
    for name, column in (("attacker_actions", "numbers from 0"), ("duration_ms", "durations")):
        tally = columns.tallies.get(name)
        odd = [] if tally is None else [(value, rows) for value, rows in tally.undecided() if value not in ("null", '""')]
        if odd and tally is not None:
            yield f"values of {tally.source} that are no {column}, so that {name} is unknown: {odd[0][0]} in {odd[0][1]} rows"


def _is_known(value: str, known: set[tuple[str, Any]]) -> bool:
    import json

    return mappings.form_of(json.loads(value)) in known


def _understood(columns: Columns) -> Iterator[Understood]:
    for name in EPISODE_SCHEMA:
        if name in columns.tallies:
            yield columns.tallies[name].understood()


IMPORTER = GenericImporter()
