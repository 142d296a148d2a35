"""Which files of a folder are read, and as what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pairmark.domain.errors import Malformed, shown
from pairmark.importers.generic.stream import SUFFIXES
from pairmark.importers.mapping import Format, Mapping

MAPPING_FILE = "pairmark-mapping.yaml"
"""A mapping under this name in a folder is the mapping of that folder's files."""

MAX_FILES = 10_000
_ENDINGS: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


_TABLES = {*_ENDINGS, ".tsv"}
NOT_READ = "tables in the folder that were not read"


@dataclass(frozen=True)
class Source:
    """One file to read."""

    path: Path
    format: Format


def sources(paths: Sequence[Path], mapping: Mapping, outward: list[Path]) -> list[Source]:
    """The files that `paths` name: themselves, or those of a folder that fit the mapping's patterns, by name.

    Links that leave a folder are not followed, but appended to `outward`.

    Raises:
        Malformed: nothing to read, a file twice, or one of unknown format.
    """
    found: list[Path] = []
    for path in paths:
        found += _below(path, mapping, outward) if path.is_dir() else [path]
    if len({os.path.realpath(path) for path in found}) != len(found):
        raise Malformed("usage", "expected each file once, found one again", remedy="name every file once")
    return [Source(path, _format(path, mapping)) for path in found]


def left_over(paths: Sequence[Path], read: Iterable[Path]) -> int:
    """How many tables lie in or below the folders and were not read: by another pattern, ending or case than was looked for.

    Hidden ones and links are left out.
    """
    taken = {os.path.realpath(path) for path in read}
    count = 0
    for folder in paths:
        for root, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = Path(root, name)
                plain = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
                if name.startswith(".") or plain.suffix.lower() not in _TABLES or path.is_symlink():
                    continue
                count += os.path.realpath(path) not in taken
    return count


def _below(folder: Path, mapping: Mapping, outward: list[Path]) -> list[Path]:
    patterns = mapping.files or tuple(f"*{ending}{packed}" for ending in _ENDINGS for packed in ("", *SUFFIXES))
    root = Path(os.path.realpath(folder))
    found: set[Path] = set()
    for pattern in patterns:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise Malformed(
                "bad-pattern", f"expected patterns of files below the folder, found {shown(pattern)}", pointer="/files",
                remedy="write it without `..`",
            )  # fmt: skip
        for path in folder.glob(pattern):
            if path.is_dir() or any(part.startswith(".") for part in path.relative_to(folder).parts):
                continue
            if not Path(os.path.realpath(path)).is_relative_to(root):
                outward.append(path)
                continue
            found.add(path)
            if len(found) > MAX_FILES:
                raise Malformed("too-many-files", f"expected at most {MAX_FILES} files, found more", str(folder), remedy="join them")
    if not found:
        raise Malformed(
            "no-records", f"expected files named {', '.join(patterns[:6])}, found none", str(folder),
            remedy="name the files, or say in the mapping how they are called (`files`)",
        )  # fmt: skip
    return sorted(found)


def _format(path: Path, mapping: Mapping) -> Format:
    name = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    told = mapping.format if mapping.format is not None else _ENDINGS.get(name.suffix.lower())
    if told is None:
        raise Malformed(
            "unknown-format", f"expected a file named {', '.join(_ENDINGS)} (also .gz or .zst), found another", str(path),
            remedy="say `format` in the mapping",
        )  # fmt: skip
    if told == "parquet" and name != path:
        raise Malformed("unknown-format", "expected Parquet as it is, found it packed", str(path), remedy="unpack it")
    return told


def mapping_in(paths: Sequence[Path]) -> Path | None:
    """The mapping file of the first path, if that is a folder that has one."""
    if not paths or not paths[0].is_dir():
        return None
    found = paths[0] / MAPPING_FILE
    return found if found.is_file() else None
