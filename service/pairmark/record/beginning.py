"""The announced document of a run, from what its author says, and the folder it begins in."""

from __future__ import annotations

import operator
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from rfc8785 import CanonicalizationError

from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.run import Run as RunDocument
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Conflict, Malformed, one_line, shown, shown_place
from pairmark.importers.system_file import check_system_file, run_harness, run_system
from pairmark.record.journal import JOURNAL

RECORDING = "recording"
ANNOUNCED = "run.json"
SUITE = "suite.json"
SESSIONS = "sessions"
ArmName = Literal["benign", "attacked"]
SuiteArgument = str | os.PathLike[str] | Mapping[str, Any]
AttackArgument = str | Mapping[str, Any] | None
EpochsArgument = int | Mapping[int, int | None]


def manifest_of(suite: SuiteArgument) -> dict[str, Any] | None:
    """The manifest that a file or a mapping holds; null for a mapping of a name and a digest.

    Raises:
        Malformed: neither of them.
    """
    if not isinstance(suite, Mapping):
        path = Path(suite)
        try:
            data = path.read_bytes()
        except OSError as problem:
            raise Malformed(
                "unreadable", f"expected a suite manifest, found: {problem.strerror}", str(path), remedy="check the path"
            ) from None
        return read_document(SuiteManifest, data, file=str(path))[1]
    if set(suite) == {"name", "digest"}:
        return None
    return read_document(SuiteManifest, canonical_bytes(dict(suite)))[1]


def announced(
    *,
    suite: SuiteArgument,
    manifest: Mapping[str, Any] | None,
    arm: ArmName,
    attack: AttackArgument,
    system: Mapping[str, Any] | None,
    harness: Mapping[str, Any] | None,
    epochs: EpochsArgument,
    max_attempts: int | None,
    started_at: str,
) -> dict[str, Any]:
    """The run document before its end.

    Raises:
        Malformed: with a pointer, what a run document does not take.
    """
    if (attack is None) != (arm == "benign"):
        raise Malformed(
            "usage",
            f"expected an attack in an attacked run and none in a benign one, found {shown(attack)} in the {arm} arm",
            remedy="name the attack with attack=, or leave it out",
        )
    if not (numbers := _numbered(epochs)):
        raise Malformed("usage", f"expected at least one epoch, found {shown(epochs)}", remedy="give how many, or their seeds")
    reference = {"name": manifest["suite"], "digest": suite_digest(manifest)} if manifest is not None else suite
    given = {"system": dict(system or {}), "harness": dict(harness or {})}
    check_system_file(given)
    value = {
        "schema": "pairmark/run/v1",
        "arm": arm,
        "suite": reference,
        "attack": {"name": attack, "digest": None} if isinstance(attack, str) else attack,
        "system": run_system(given["system"], {}),
        "harness": {**run_harness(given["harness"], name="", version=None), "name": given["harness"].get("name")},
        "epochs": [{"epoch": number, "seed": seed} for number, seed in numbers.items()],
        "retries": {"max_attempts": max_attempts},
        "started_at": started_at,
        "finished_at": None,
        "episodes": None,
    }
    try:
        data = canonical_bytes(value)
    except CanonicalizationError as problem:
        raise Malformed(
            "usage", f"expected texts, integers and plain numbers, found: {one_line(str(problem), 200)}", remedy="give values that JSON has"
        ) from None
    return read_document(RunDocument, data)[1]


def _numbered(epochs: EpochsArgument) -> Mapping[int, int | None]:
    if isinstance(epochs, Mapping):
        return {integral(number): None if seed is None else integral(seed) for number, seed in epochs.items()}
    return dict.fromkeys(range(1, integral(epochs) + 1))


def integral(number: int) -> int:
    """The number as Python's own: those of array libraries are integers too.

    Raises:
        Malformed: it is none.
    """
    try:
        return number if isinstance(number, bool) else operator.index(number)
    except TypeError:
        raise Malformed("usage", f"expected an integer, found {shown(number)}", remedy="number epochs and seeds by integers") from None


def begin(folder: Path, value: Mapping[str, Any], manifest: Mapping[str, Any] | None) -> bool:
    """Make the recording in a new or empty folder, whole or not at all; false where there is one already.

    Raises:
        Conflict: the folder holds something else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / RECORDING).exists():
        return False
    if any(not item.name.startswith(f".{RECORDING}-") for item in folder.iterdir()):
        raise Conflict(
            "exists", f"expected a new or empty folder, found {shown_place(folder)} with content", "choose another folder"
        )
    scratch = Path(tempfile.mkdtemp(prefix=f".{RECORDING}-", dir=folder))
    try:
        write_whole(scratch / ANNOUNCED, canonical_bytes(value))
        if manifest is not None:
            write_whole(scratch / SUITE, canonical_bytes(manifest))
        write_whole(scratch / JOURNAL, b"")
        (scratch / SESSIONS).mkdir()
        scratch.chmod(0o755)
        scratch.rename(folder / RECORDING)
    except FileExistsError:
        return False
    except OSError:
        if (folder / RECORDING).exists():  # someone else was first
            return False
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sync_folder(folder)
    return True


def write_whole(path: Path, data: bytes) -> None:
    """Write a file and wait for the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the folder's names."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
