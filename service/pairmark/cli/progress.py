"""How far an upload is, for a person who looks: on a terminal only, and only where it takes a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LARGE_BYTES = 4 * 1024 * 1024
"""Less is sent before a bar could be read."""


@contextmanager
def upload_progress() -> Iterator[Callable[[int, int], None] | None]:
    """What to tell how many bytes are sent, of how many; None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TimeRemainingColumn, TransferSpeedColumn

    columns = ("uploading", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        tasks: list[TaskID] = []

        def tell(sent: int, total: int) -> None:
            if total < LARGE_BYTES:
                return
            if not tasks:
                tasks.append(shown.add_task("upload", total=total))
            shown.update(tasks[0], completed=sent)

        yield tell
