"""What lies in and beside pipeline directories where no log file is looked for: counted, so that nothing is left out in silence."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from pairmark.importers.agentdojo.folder import SUFFIX, is_seed, is_within

_LEVELS = 3
"""Folders above a log file: suite, task, attack."""
_PACKED = (".gz", ".zst", ".xz", ".bz2", ".zip")
HIDDEN, LEVEL, ENDING, FOLDER, BESIDE, LINKS = (
    "hidden files and files in hidden folders", "files at another level than log files", "files with another ending than .json",
    "folders with the name of a log file", "files in folders that are no seed-N", "links that leave the folder",
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


def beside(paths: Sequence[Path], pipelines: Sequence[Path]) -> Counter[str]:
    """The same of what lies in `paths` beside the pipeline directories that were found in them, which are not walked again: an epoch
    whose folder is misnamed or lies elsewhere. A link to a folder outside, or to nothing, counts as one.
    """
    found = {os.path.realpath(pipeline) for pipeline in pipelines}
    parents = {os.path.realpath(path) for path in paths} - found
    counted: Counter[str] = Counter()
    for parent in parents:
        waiting = [(parent, LEVEL)]
        while waiting:
            folder, kind = waiting.pop()
            for entry in os.scandir(folder):
                name = entry.name
                of_this = HIDDEN if name.startswith(".") else kind
                if entry.is_dir(follow_symlinks=False):
                    if entry.path not in found and entry.path not in parents:
                        is_other = folder == parent and of_this != HIDDEN and not is_seed(Path(name))
                        waiting.append((entry.path, BESIDE if is_other else of_this))
                elif entry.is_symlink() and not Path(entry.path).is_file() and not is_within(entry.path, parent):
                    counted[LINKS] += 1
                elif _is_like_a_log(name):
                    counted[of_this] += 1
    return counted


def _is_like_a_log(name: str) -> bool:
    plain = name.lower()
    for ending in _PACKED:
        plain = plain.removesuffix(ending)
    return plain.endswith(SUFFIX)


def _kind(name: str, level: int, *, is_hidden: bool) -> str | None:
    if not _is_like_a_log(name):
        return None
    if is_hidden or name.startswith("."):
        return HIDDEN
    if level != _LEVELS:
        return LEVEL
    return None if name.endswith(SUFFIX) else ENDING
