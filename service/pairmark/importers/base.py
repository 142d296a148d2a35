"""What an importer is, and what it hands over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import polars as pl

from pairmark.domain.documents.suite import SuiteManifest

ArmName = Literal["benign", "attacked"]


@dataclass(frozen=True)
class Unreadable:
    """A file that could not be read as an episode. Its cell, where its place names one, is in the ledger as aborted."""

    path: str
    reason: str


@dataclass(frozen=True, eq=False)
class Imported:
    """A run as its harness recorded it.

    Attributes:
        run: run document as a JSON object, complete but for `episodes`, which is null until the bundle is written.
        episodes: ledger with the fourteen columns of `EPISODE_SCHEMA`, in canonical order.
        unreadable: files that could not be read, in file order.
        set_aside: what lay in the folder and is no episode of this run, counted by kind.
        notes: what a person should know, one sentence each.
    """

    run: dict[str, Any]
    episodes: pl.DataFrame
    unreadable: tuple[Unreadable, ...] = ()
    set_aside: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


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
    """Reads one harness' files. `name` is the word on the command line."""

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
