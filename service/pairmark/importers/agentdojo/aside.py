"""What lies in a pipeline directory where no log file is looked for: counted, so that nothing is left out in silence."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from pairmark.importers.agentdojo.folder import SUFFIX

_LEVELS = 3
"""Folders above a log file: suite, task, attack."""
_PACKED = (".gz", ".zst", ".xz", ".bz2", ".zip")
HIDDEN, LEVEL, ENDING, FOLDER = (
    "hidden files and files in hidden folders", "files at another level than log files", "files with another ending than .json",
    "folders with the name of a log file",
)  # fmt: skip


def passed_over(pipelines: Sequence[Path], whole: AbstractSet[str] = frozenset()) -> Counter[str]:
    """Files that may have been meant as log files and are none by their place or name, by kind. Links to folders are not followed.
    In the folders `whole` is nothing but log files.
    """
    counted: Counter[str] = Counter()
    for pipeline in pipelines:
        waiting = [(str(pipeline), 0, False)]
        while waiting:
            folder, level, is_hidden = waiting.pop()
            for entry in os.scandir(folder):
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    if level == _LEVELS - 1 and entry.path in whole:
                        continue
                    waiting.append((entry.path, level + 1, is_hidden or name.startswith(".")))
                    kind = FOLDER if level == _LEVELS and name.lower().endswith(SUFFIX) else None
                else:
                    kind = _kind(name, level, is_hidden=is_hidden)
                if kind is not None:
                    counted[kind] += 1
    return counted


def _kind(name: str, level: int, *, is_hidden: bool) -> str | None:
    plain = name.lower()
    for ending in _PACKED:
        plain = plain.removesuffix(ending)
    if not plain.endswith(SUFFIX):
        return None
    if is_hidden or name.startswith("."):
        return HIDDEN
    if level != _LEVELS:
        return LEVEL
    return None if name.endswith(SUFFIX) else ENDING
