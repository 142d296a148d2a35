"""Which files of a harness a report is about: of offending cells, of what could not be read, of what was said beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from pairmark.cli.harness_input import HarnessOptions
from pairmark.rules.cell_names import cell_name

if TYPE_CHECKING:
    from pairmark.domain.evidence import Role
    from pairmark.importers.base import Imported, Unreadable

_OF_SYSTEM: Final = (
    "model-matches", "decoding-matches", "tools-match", "scaffold-matches", "harness-matches", "baseline-undefended", "epochs-match",
)  # fmt: skip
"""Rules over what a --system file says."""


@dataclass(frozen=True)
class Offences:
    """Files by the name of the cell that a finding names, for each arm; and the --system files."""

    files: Mapping[str, Mapping[str, str]]
    unreadable: Sequence[tuple[str, str]]
    systems: Sequence[str]

    @classmethod
    def of(cls, imported: Mapping[Role, Imported], options: HarnessOptions) -> Offences:
        """Of the arms that were read from a harness' own files."""
        systems = [str(beside.system) for role in imported if (beside := options.of(role)).system is not None]
        return cls(
            {role: _by_cell(found.places) for role, found in imported.items()},
            [(file.file or file.path, f"{role} arm: {_part(file)}{file.reason}") for role, found in imported.items() for file in found.unreadable],
            list(dict.fromkeys(systems)),
        )

    def file_of(self, finding: Mapping[str, Any]) -> str | None:
        """The file of the first cell that a finding names, else the --system file of a rule over what that says; null: unknown."""
        for role, name in _named_cells((), finding["evidence"]):
            for arm, files in self.files.items():
                if role in (None, arm) and (found := _file(files, name)) is not None:
                    return found
        return self.systems[0] if finding["rule"] in _OF_SYSTEM and self.systems else None


def _part(file: Unreadable) -> str:
    """Which part of the file it is, for a reason that stands at the file."""
    return "" if file.file is None else f"{file.path.removeprefix(file.file).lstrip('#:')}: "


def _by_cell(places: pl.DataFrame | None) -> dict[str, str]:
    if places is None:
        return {}
    found = {}
    for task, injection, epoch, attempt, file in places.select("task_id", "injection_id", "epoch", "attempt", "file").iter_rows():
        name = cell_name(task, injection, epoch)
        found[name] = found[f"{name} as attempt {attempt}"] = file  # of the cell: where its last attempt is
    return found


def _file(files: Mapping[str, str], name: str) -> str | None:
    """By the cell's name; a finding may add which attempt, or which arm, behind it."""
    return files.get(name) or files.get(name.partition(" (")[0]) or files.get(name.partition(" as attempt ")[0])


def _named_cells(path: tuple[str, ...], evidence: Any) -> Iterator[tuple[str | None, str]]:
    """Every text in lists of the evidence, with the arm under whose key it stands."""
    if isinstance(evidence, Mapping):
        for key, value in evidence.items():
            yield from _named_cells((*path, key), value)
    elif isinstance(evidence, Sequence) and not isinstance(evidence, str):
        role = next((part for part in path if part in ("benign", "attacked", "baseline")), None)
        yield from ((role, item) for item in evidence if isinstance(item, str))
