"""Whether pipeline directories are epochs of one run: of one pipeline, by the name of its directory, and each run for itself.

The name inside the files is no such evidence: runs under a defense often carry the undefended name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pairmark.domain.errors import Malformed, shown
from pairmark.importers.agentdojo.folder import PipelineFolder, is_seed
from pairmark.importers.agentdojo.record import MAX_FILE_BYTES
from pairmark.importers.strict_value import NotStrict, strict_value


def check_one_arm(folders: Sequence[PipelineFolder]) -> None:
    """Refuse directories of several pipelines, and two of one seed.

    Raises:
        Malformed: naming two that differ, or that have the same seed.
    """
    first = folders[0]
    for folder in folders[1:]:
        if pipeline_of(folder.path) != pipeline_of(first.path):
            raise Malformed(
                "several-pipelines",
                f"expected epochs of one pipeline, found the directories {shown(pipeline_of(first.path))} ({first.path}) and"
                f" {shown(pipeline_of(folder.path))} ({folder.path})",
                remedy="import each pipeline as a run of its own; epochs of one are seed-N folders with a directory of the same name",
            )
    seeds: dict[int, Path] = {}
    for folder in folders:
        if folder.seed is None:
            continue
        if folder.seed in seeds:
            raise Malformed(
                "repeated-seed",
                f"expected each seed once, found seed {folder.seed} in {seeds[folder.seed]} and {folder.path}",
                remedy="leave one of the two out, or name the folder by the seed that it was run with",
            )
        seeds[folder.seed] = folder.path


def pipeline_of(path: Path) -> str:
    """Name of the directory; of what a `seed-N` directory lies in, where this holds the log files itself."""
    whole = path.resolve() if ".." in path.parts else path.absolute()
    return whole.parent.name if is_seed(whole) else whole.name


def is_same_record(file: str, other: str) -> bool:
    """Whether two log files say the same, with the time they were written and how long they took."""
    try:
        one, two = (_bytes(path) for path in (file, other))
        return one == two or strict_value(one) == strict_value(two)
    except (OSError, NotStrict):
        return False


def _bytes(path: str) -> bytes:
    with Path(path).open("rb") as opened:
        return opened.read(MAX_FILE_BYTES + 1)
