"""What an importer is, and what it hands over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import polars as pl

from pairmark.domain.documents.suite import SuiteManifest

ArmName = Literal["benign", "attacked"]

Fact = Literal[
    "aborts", "utility", "attack_success", "delivered", "attacker_actions", "served_model", "duration_ms", "error",
    "task_digest", "transcript_digest", "attempts", "seeds", "requested_model", "provider", "decoding", "tools_digest",
    "system_prompt_digest", "scaffold", "defenses", "limits", "harness_version", "times",
]  # fmt: skip
"""What a log may hold beside which cell an episode is of. `aborts`: episodes that broke off are told from failures."""

FACTS: tuple[Fact, ...] = get_args(Fact)


@dataclass(frozen=True)
class Recorded:
    """Whether a log format holds a fact: `always`, `sometimes` or `never`.

    Attributes:
        extent: of the episodes that were assessed, or of the runs, how many have it.
        how: one sentence: where it stands in the files, when it is missing, or why it cannot be known.
    """

    extent: Literal["always", "sometimes", "never"]
    how: str


@dataclass(frozen=True)
class Reading:
    """A value as it stands in the files (as JSON text), in how many rows, and what became of it (null: unknown)."""

    value: str
    rows: int
    meaning: str | None


@dataclass(frozen=True)
class Understood:
    """How one column of the ledger, or one key of the run document, was made out.

    Attributes:
        target: column, or dotted path in the run document.
        source: where it stands in the files; null: nowhere.
        rows, unknown: rows that were read, and those of them in which it stays unknown.
        readings: the values seen, most frequent first, at most `MOST_READINGS`.
        further: how many distinct values more there are.
    """

    target: str
    source: str | None
    rows: int
    unknown: int
    readings: tuple[Reading, ...] = ()
    further: int = 0


MOST_READINGS = 20


@dataclass(frozen=True)
class Unreadable:
    """A file, or a part of one, that could not be read as an episode. Its cell, where its place names one, is in the ledger as aborted.

    `path` says which; `file`: the file on disk, where `path` goes on behind its name.
    """

    path: str
    reason: str
    file: str | None = None


@dataclass(frozen=True, eq=False)
class Imported:
    """A run as its harness recorded it.

    Attributes:
        run: run document as a JSON object, complete but for `episodes`, which is null until the bundle is written.
        episodes: ledger with the fourteen columns of `EPISODE_SCHEMA`, in canonical order.
        unreadable: files that could not be read, in file order.
        set_aside: what lay in the folder and is no episode of this run, counted by kind.
        notes: what a person should know, one sentence each.
        understood: how columns were made out, where the importer can say more than the ledger shows.
        places: file (and line, where there is one) of each episode, with the columns of `PLACE_SCHEMA`; null: not kept.
        called: names by which the harness calls the system; the arms of a pair share one. Empty: it gives none.
    """

    run: dict[str, Any]
    episodes: pl.DataFrame
    unreadable: tuple[Unreadable, ...] = ()
    set_aside: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    understood: tuple[Understood, ...] = ()
    places: pl.DataFrame | None = None
    called: frozenset[str] = frozenset()


PLACE_SCHEMA: dict[str, pl.DataType] = {
    "task_id": pl.String(), "injection_id": pl.String(), "epoch": pl.Int64(), "attempt": pl.Int64(), "file": pl.String(),
    "line": pl.Int64(),
}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A small folder of harness output with the ledger it must give; a contract test runs every one.

    Attributes:
        title: what it shows, as a sentence.
        files: text by path below the folder that is imported.
        manifest: suite manifest as a JSON object.
        arm, attack: as given to `read`.
        rows: for each expected episode in canonical order, the columns that are looked at.
    """

    title: str
    files: Mapping[str, str]
    manifest: Mapping[str, Any]
    arm: ArmName
    attack: str | None
    rows: tuple[Mapping[str, Any], ...]


@runtime_checkable
class Importer(Protocol):
    """Reads one harness' files. `name` is the word on the command line.

    An importer may also declare `records`, a mapping of every `Fact` to what its log format holds of it (`Recorded`), and
    `looks_for`, the shape of files by which it recognises its own: see `records_of` and `looks_for`.
    """

    name: str
    title: str
    examples: tuple[Example, ...]

    def recognises(self, paths: Sequence[Path]) -> bool:
        """Whether all `paths` look like this harness' output. Never raises."""
        ...

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
        """The run below `paths`.

        Args:
            paths: the harness' folders or files.
            suite: manifest the run is of.
            suite_digest: its content digest.
            arm: `benign` or `attacked` (a baseline is an attacked run).
            attack: which attack, where the folder holds several; null in the benign arm.
            epoch: number of the epoch, only where there is a single one (default 1).
            system: what the harness did not record, as in a `--system` file.

        Raises:
            Malformed: the folder is not one run, or contradicts `system`.
        """
        ...


@runtime_checkable
class TakesMapping(Protocol):
    """An importer whose files are explained by a mapping."""

    def with_mapping(self, mapping: Mapping[str, Any], *, file: str | None = None) -> Importer:
        """The importer for files that are as `mapping` says.

        Raises:
            Malformed: it is no mapping; `file` names it.
        """
        ...


@runtime_checkable
class ExplainedByFolder(Protocol):
    """An importer whose folders may explain themselves."""

    def for_paths(self, paths: Sequence[Path]) -> Importer:
        """The importer as it is for these paths.

        Raises:
            Malformed: what explains them is not well-formed.
        """
        ...


def records_of(importer: Importer) -> Mapping[Fact, Recorded]:
    """What the importer declares of its log format; empty where it declares nothing."""
    declared: Mapping[Fact, Recorded] = getattr(importer, "records", {})
    return declared


def looks_for(importer: Importer) -> str:
    """By what the importer recognises its files, in words; its title where it says nothing."""
    said: str = getattr(importer, "looks_for", importer.title)
    return said
