"""Which importer reads some files: the one that was named, else the only one that recognises them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pairmark.domain.errors import Malformed
from pairmark.importers.base import ExplainedByFolder, Importer, TakesMapping
from pairmark.importers.registry import importer_of, installed_importers
from pairmark.importers.unrecognised import not_recognised


def recognised_by(paths: Sequence[Path]) -> list[Importer]:
    """Every importer that recognises all `paths`."""
    return [importer for importer in installed_importers().values() if importer.recognises(paths)]


def named_importer(name: str, mapping: Mapping[str, Any] | None, *, file: str | None = None) -> Importer:
    """The importer of that name, with the mapping if there is one.

    Raises:
        Malformed: there is none, or it takes no mapping.
    """
    importer = importer_of(name)
    if mapping is None:
        return importer
    if not isinstance(importer, TakesMapping):
        raise Malformed(
            "usage", f"expected no mapping for {name}, whose format is known, found one", file, remedy="leave it out"
        )
    return importer.with_mapping(mapping, file=file)


def reader_of(
    paths: Sequence[Path], name: str | None = None, mapping: Mapping[str, Any] | None = None, *, mapping_file: str | None = None
) -> Importer:
    """The importer that is to read `paths`.

    Raises:
        Malformed: none recognises them, or several do; the message says what was looked for.
    """
    if name is not None:
        return _for_paths(named_importer(name, mapping, file=mapping_file), paths)
    found = recognised_by(paths) if mapping is None else _mapped(paths, mapping, mapping_file)
    if len(found) == 1:
        return _for_paths(found[0], paths)
    file = str(paths[0]) if paths else None
    if found:
        names = ", ".join(importer.name for importer in found)
        raise Malformed("several-readers", f"expected files of one harness, found that {names} recognise them", file, remedy="name one with --harness")
    raise not_recognised(paths, list(installed_importers().values()))


def _for_paths(importer: Importer, paths: Sequence[Path]) -> Importer:
    return importer.for_paths(paths) if isinstance(importer, ExplainedByFolder) else importer


def _mapped(paths: Sequence[Path], mapping: Mapping[str, Any], file: str | None) -> list[Importer]:
    """The importers that take this mapping, and with it recognise all `paths`.

    Raises:
        Malformed: none takes it.
    """
    taking: list[Importer] = []
    problems: list[Malformed] = []
    for importer in installed_importers().values():
        if isinstance(importer, TakesMapping):
            try:
                taking.append(importer.with_mapping(mapping, file=file))
            except Malformed as problem:
                problems.append(problem)
    if not taking and problems:
        raise problems[0] if len(problems) == 1 or "pairmark/mapping/v1" in mapping.values() else problems[-1]
    return [importer for importer in taking if importer.recognises(paths)]
