"""Finding the log files of a run: pipeline directories, epochs, and what else lies there. Reads names, never contents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pairmark.domain.errors import Malformed, shown

_SEED = re.compile(r"seed-([0-9]{1,15})")
_NOT_A_NAME = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_SHAPE = "<suite>/<task>/<attack>/<injection>.json"
NO_ATTACK = "none"
"""How the harness names the attack and the injection of a run without injections."""


@dataclass(frozen=True)
class PipelineFolder:
    """One pipeline directory: one epoch of a run. `seed`: from a `seed-N` folder it is, or lies directly in."""

    path: Path
    epoch: int
    seed: int | None


class Place(NamedTuple):
    """Where a log file lies, which says what it is of. `problem`: why it must not be opened."""

    file: str
    suite: str
    task: str
    attack: str
    injection: str
    problem: str | None

    @property
    def path(self) -> Path:
        return Path(self.file)


def is_pipeline(path: Path) -> bool:
    """Whether log files lie where a pipeline directory has them."""
    return next(_log_files(path), None) is not None


def pipeline_folders(paths: Sequence[Path], epoch: int | None) -> list[PipelineFolder]:
    """The pipeline directories that `paths` name: themselves, or one in each `seed-*` folder below.

    Raises:
        Malformed: a path is no such directory, or holds several pipelines; the message names them.
    """
    found = [folder for path in paths for folder in _pipelines_of(path)]
    if epoch is not None and len(found) != 1:
        raise Malformed(
            "usage",
            f"expected one pipeline directory with an epoch number, found {len(found)}",
            remedy="leave the number out: several directories are epochs 1, 2, … in their order",
        )
    if len({os.path.realpath(path) for path, _ in found}) != len(found):
        raise Malformed(
            "usage", "expected each pipeline directory once, found one again", remedy="name every epoch once"
        )
    return [PipelineFolder(path, epoch or number, seed) for number, (path, seed) in enumerate(found, 1)]


def _pipelines_of(path: Path) -> list[tuple[Path, int | None]]:
    if not path.is_dir():
        raise Malformed(
            "not-a-folder",
            "expected a pipeline directory, found none",
            file=str(path),
            remedy=f"its files lie in {_SHAPE}",
        )
    if is_pipeline(path):
        return [(path, _seed_of(path))]
    seeds = [child for child in _folders(path) if _SEED.fullmatch(child.name)]
    if seeds:
        return [
            (_only_pipeline(child), _seed_of(child)) for child in sorted(seeds, key=lambda child: int(child.name[5:]))
        ]
    inner = [child.name for child in _folders(path) if is_pipeline(child)]
    if inner:
        raise Malformed(
            "several-pipelines",
            f"expected one pipeline directory, found a folder of them: {_listed(inner)}",
            file=str(path),
            remedy="name one of them",
        )
    raise Malformed(
        "no-records",
        f"expected AgentDojo log files in {_SHAPE}, found none",
        file=str(path),
        remedy="name a pipeline directory",
    )


def _only_pipeline(seed: Path) -> Path:
    if is_pipeline(seed):
        return seed
    inner = [child for child in _folders(seed) if is_pipeline(child)]
    if len(inner) != 1:
        raise Malformed(
            "several-pipelines" if inner else "no-records",
            f"expected one pipeline directory, found {_listed([c.name for c in inner]) if inner else 'none'}",
            file=str(seed),
            remedy="name one pipeline directory of each seed instead",
        )
    return inner[0]


def is_seed(path: Path) -> bool:
    """Whether the folder's own name states a seed."""
    return _SEED.fullmatch(path.name) is not None


def _seed_of(path: Path) -> int | None:
    """The seed that the folder's own name or that of the folder it lies in states."""
    for name in (path.name, path.parent.name):
        match = _SEED.fullmatch(name)
        if match is not None:
            return int(match[1])
    return None


def _listed(names: Sequence[str], limit: int = 8) -> str:
    text = ", ".join(shown(name) for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def _folders(path: Path, root: str | None = None, outward: list[Path] | None = None) -> list[Path]:
    """Folders below `path`, by name. Hidden ones are left out, and links that leave `root`: these go to `outward`."""
    root = os.path.realpath(path) if root is None else root
    kept = []
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if entry.is_symlink() and not is_within(entry.path, root):
            if outward is not None:
                outward.append(Path(entry.path))
            continue
        kept.append(Path(entry.path))
    return kept


def is_within(path: str, root: str) -> bool:
    """Whether what `path` names, links followed, lies below the real path `root`."""
    return Path(os.path.realpath(path)).is_relative_to(root)


class Shelf(NamedTuple):
    """A folder of log files of one task under one attack. `names`: of its files, in order; `outward`: those of them that are
    links which leave the pipeline directory, and must not be opened.
    """

    folder: str
    suite: str
    task: str
    attack: str
    names: list[str]
    outward: list[str]


SUFFIX = ".json"


def shelves(pipeline: Path, outward: list[Path] | None = None, whole: set[str] | None = None) -> Iterator[Shelf]:
    """Every log file of a pipeline directory, in the order of names, at most four levels deep.

    Links to folders outside are not followed, but appended to `outward`. Folders that hold log files and nothing else are
    added to `whole`.

    Raises:
        Malformed: a name that no id can have.
    """
    root = os.path.realpath(pipeline)
    for attack_folder, entries in _log_files(pipeline, outward, whole):
        suite, task, attack = attack_folder.parts[-3:]
        names = sorted([name for name, _ in entries])
        if _NOT_A_NAME.search("/".join((suite, task, attack, *names))):
            lying = next(f"{suite}/{task}/{attack}/{name}" for name in names if _NOT_A_NAME.search(f"{suite}{task}{attack}{name}"))
            raise Malformed(
                "bad-name",
                f"expected names without control characters, in UTF-8, found {shown(lying)}",
                file=str(pipeline),
                remedy="rename or remove it",
            )
        leaving = sorted([name for name, link in entries if link is not None and not is_within(link, root)])
        yield Shelf(str(attack_folder), suite, task, attack, names, leaving)


OUTWARD = "expected a file of this folder, found a link that leaves it"


def places(pipeline: Path, outward: list[Path] | None = None) -> Iterator[Place]:
    """The files of all shelves. A link to a file outside is a place with a problem."""
    for folder, suite, task, attack, names, leaving in shelves(pipeline, outward):
        for name in names:
            problem = OUTWARD if name in leaving else None
            yield Place(f"{folder}{os.sep}{name}", suite, task, attack, name.removesuffix(SUFFIX), problem)


def _log_files(
    pipeline: Path, outward: list[Path] | None = None, whole: set[str] | None = None
) -> Iterator[tuple[Path, list[tuple[str, str | None]]]]:
    """The folders where log files lie, with the names of these, and the paths of those that are links."""
    root = os.path.realpath(pipeline)
    for suite in _folders(pipeline, root, outward):
        for task in _folders(suite, root, outward):
            for attack in _folders(task, root, outward):
                entries: list[tuple[str, str | None]] = []
                seen = 0
                for entry in os.scandir(attack):
                    name = entry.name
                    seen += 1
                    if name.endswith(SUFFIX) and name[0] != ".":
                        if entry.is_file(follow_symlinks=False):
                            entries.append((name, None))
                        elif not entry.is_dir():
                            entries.append((name, entry.path if entry.is_symlink() else None))
                if entries:
                    if whole is not None and len(entries) == seen:
                        whole.add(str(attack))
                    yield attack, entries
