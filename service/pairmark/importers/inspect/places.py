"""Which files are Inspect logs, by their first bytes and member names, and which of them `PATH...` names. Needs no inspect_ai."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from pairmark.domain.errors import Malformed
from pairmark.importers.inspect.archive import MARKS

_HEAD_BYTES = 4096
# Inspect promises the order of these fields: "version", "status", "eval".
_JSON_HEAD = re.compile(
    rb'^\s*\{\s*"version"\s*:\s*[0-9]+\s*,\s*"status"\s*:\s*"(?:started|success|cancelled|error)"\s*,\s*"eval"\s*:\s*\{'
)


def is_log(path: Path) -> bool:
    """Whether the file looks like a log that Inspect wrote."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        if path.suffix == ".json":
            return _JSON_HEAD.match(head) is not None
        if path.suffix != ".eval" or not head.startswith(b"PK\x03\x04"):
            return False
        with zipfile.ZipFile(path) as packed:
            return bool(MARKS & set(packed.namelist()))
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def logs_at(paths: Sequence[Path]) -> tuple[list[Path], int]:
    """The logs that `paths` name: themselves, or those that lie directly in a folder, by name; and how many other files lie there.

    Raises:
        Malformed: a path that is not there, a folder without logs, or one log named twice.
    """
    found: list[Path] = []
    others = 0
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(child for child in path.iterdir() if not child.name.startswith(".") and child.is_file())
        logs = [child for child in inside if child.suffix == ".eval" or is_log(child)]
        if not logs:
            raise Malformed(
                "no-records",
                f"expected Inspect logs directly in the folder, found {len(inside)} other files",
                str(path),
                remedy="name .eval or .json logs, or the folder that Inspect wrote them to",
            )
        found += logs
        others += len(inside) - len(logs)
    if len({os.path.realpath(path) for path in found}) != len(found):
        raise Malformed("usage", "expected each log once, found one again", remedy="name every log once")
    return found, others
