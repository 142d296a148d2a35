"""Why no reader takes some files, in the words that fit what lies there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pairmark.domain import strict_json
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.base import Importer
from pairmark.importers.single_file import head_of

_HEAD = 1024 * 1024
_MOST_LOOKED_AT = 64
_NAMED = 8
_MEANT = {
    "pairmark/suite/": "give it with --suite", "pairmark/policy/": "give it with --policy", "pairmark/run/": "give the folder it lies in: a bundle is both files",
    "pairmark/mapping/": "give it with --mapping, beside the files it explains",
}  # fmt: skip


def not_recognised(paths: Sequence[Path], importers: Sequence[Importer]) -> Malformed:
    """The refusal of files that no importer recognises."""
    for found in _special(paths, importers):
        return found
    names = ", ".join(importer.name for importer in importers)
    return Malformed(
        "not-recognised", f"expected a run bundle or the files of a harness, found none that a reader recognises (tried {names})",
        str(paths[0]) if paths else None,
        remedy="check the path, name the reader with --harness, or write a mapping (docs/mapping.md); `pairmark import --help` says what each takes",
    )  # fmt: skip


def _special(paths: Sequence[Path], importers: Sequence[Importer]) -> Iterator[Malformed]:
    for path in paths:
        if not os.path.lexists(path):
            yield Malformed("unreadable", "expected a run bundle or the files of a harness, found no such file", str(path), remedy="check the path")
        elif path.is_dir() and (path / "recording" / "journal.jsonl").exists():
            yield Malformed(
                "unfinished-recording", "expected a finished run, found a recording that was not finished", str(path),
                remedy="resume it (record.Run.resume), or seal it as it stands (record.seal): docs/recording.md",
            )  # fmt: skip
        elif (schema := _schema_of(path)) is not None:
            remedy = next((words for start, words in _MEANT.items() if schema.startswith(start)), "name the run itself here")
            yield Malformed("not-recognised", f"expected a run, found a document of Pairmark ({shown(schema)})", str(path), remedy=remedy)
    lying = list(paths) if len(paths) > 1 else _lying_in(paths)
    for importer in importers:
        taken = [path for path in lying if importer.recognises([path])]
        if len(taken) > 1:
            listed = ", ".join(shown(path.name) for path in taken[:_NAMED]) + (f" and {len(taken) - _NAMED} more" if len(taken) > _NAMED else "")
            yield Malformed(
                "several-files", f"expected one file of {importer.name}, which is a whole run, found {len(taken)} ({listed})",
                str(paths[0]), remedy="name the file of one run at a time",
            )  # fmt: skip


def _lying_in(paths: Sequence[Path]) -> list[Path]:
    folder = next(iter(paths), None)
    if folder is None or not folder.is_dir():
        return []
    try:
        return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))[:_MOST_LOOKED_AT]
    except OSError:
        return []


def _schema_of(path: Path) -> str | None:
    """Which document of Pairmark the file is; null for another one, and for one beyond a mebibyte. Never raises."""
    head = head_of(path, _HEAD)
    if not head.lstrip().startswith(b"{"):
        return None
    try:
        value = strict_json.parse(head)
    except (Malformed, ValueError):
        return None
    schema = value.get("schema") if isinstance(value, dict) else None
    return schema if isinstance(schema, str) and schema.startswith("pairmark/") else None
