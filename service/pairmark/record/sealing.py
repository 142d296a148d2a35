"""From a journal to a finished bundle: the ledger first, then the run document that names its digest, then nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from pairmark.domain.canonical import DIGEST_PREFIX, canonical_bytes, digest_of
from pairmark.domain.documents.base import malformed_from, read_document
from pairmark.domain.documents.episode import Episode as EpisodeDocument
from pairmark.domain.documents.run import Run as RunDocument
from pairmark.record.beginning import RECORDING, sync_folder
from pairmark.record.cells import Cell
from pairmark.record.journal import HeldJournal
from pairmark.record.state import State

_KEYS = tuple(EpisodeDocument.model_fields)


@dataclass(frozen=True)
class Sealed:
    """A finished bundle. `count` and `digest` are of its ledger, `run_digest` of its run document."""

    folder: Path
    count: int
    digest: str
    run_digest: str


def sealed_in(folder: Path) -> Sealed | None:
    """The bundle that is finished there, if any; what an interrupted finish left beside it is cleared away.

    Raises:
        Malformed: `run.json` is no finished run document.
    """
    path = folder / "run.json"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    run, value = read_document(RunDocument, data, file=str(path))
    if run.episodes is None:
        return None
    if (folder / "episodes.jsonl").is_file():
        shutil.rmtree(folder / RECORDING, ignore_errors=True)
    return Sealed(folder, run.episodes.count, run.episodes.digest, digest_of(value))


def write_bundle(folder: Path, journal: HeldJournal, state: State, run: Mapping[str, Any]) -> Sealed:
    """Write both files of a run of which no attempt is open. Done again after a crash, it gives the same bytes."""
    digest, count, served = hashlib.sha256(), 0, set[str]()
    with _replacing(folder / "episodes.jsonl") as out:
        for row in _rows(journal, state):
            line = canonical_bytes(row) + b"\n"
            digest.update(line)
            out.write(line)
            count += 1
            if row["served_model"] is not None:
                served.add(row["served_model"])
    named = DIGEST_PREFIX + digest.hexdigest()
    value = {
        **run,
        "system": _with_served(run["system"], served),
        "finished_at": max(state.last_moment or run["started_at"], run["started_at"]),
        "episodes": {"count": count, "digest": named},
    }
    with _replacing(folder / "run.json") as out:
        out.write(json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n")
    sync_folder(folder)
    shutil.rmtree(folder / RECORDING, ignore_errors=True)
    return Sealed(folder, count, named, digest_of(value))


def _rows(journal: HeldJournal, state: State) -> Iterator[dict[str, Any]]:
    """Every attempt with all fourteen keys, in canonical order."""
    places = [
        (cell.task_id, cell.injection_id is not None, cell.injection_id or "", cell.epoch, number, attempt)
        for cell, attempts in state.attempts.items()
        for number, attempt in enumerate(attempts, 1)
    ]
    for *_, attempt in sorted(places, key=lambda place: place[:5]):
        row = journal.line(attempt.offset, attempt.length)["row"]
        try:
            EpisodeDocument.model_validate(row)
        except ValidationError as problem:
            raise malformed_from(problem, json.dumps(row).encode(), str(Cell(*(row.get(key) for key in Cell._fields)))) from None
        yield {key: row[key] for key in _KEYS}


def _with_served(system: Mapping[str, Any], served: set[str]) -> dict[str, Any]:
    """The models that answered, where nobody said before which would."""
    model = system["model"]
    if not served or (model is not None and model["served"] is not None):
        return dict(system)
    known = model or {"requested": None, "provider": None}
    return {**system, "model": {**known, "served": sorted(served)}}


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name once it is whole and on the disk."""
    scratch = path.with_name(f".{path.name}.part")
    try:
        with scratch.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
