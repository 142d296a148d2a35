"""A certification that waits: how far it is, on a terminal, and what becomes of it on Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pairmark.cli.console import complain

if TYPE_CHECKING:
    from pairmark.client import Client
    from pairmark.http.models import CertificationAnswer, CertificationProgress


@dataclass
class Waited:
    """What is known of it: its id, and whether this command queued it."""

    show: Callable[[CertificationProgress], None] | None = None
    certification: str | None = None
    own: bool = False

    def told(self, answer: CertificationAnswer, own: bool) -> None:
        """Take note of an answer."""
        self.certification, self.own = answer.id, own
        if self.show is not None and answer.progress is not None:
            self.show(answer.progress)

    @classmethod
    @contextmanager
    def shown(cls) -> Iterator[Waited]:
        """With a bar on standard error, where that is a terminal."""
        if not sys.stderr.isatty():
            yield cls()
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            tasks: list[TaskID] = []

            def show(progress: CertificationProgress) -> None:
                if not tasks:
                    tasks.append(bar.add_task("", total=100))
                steps = f" {progress.done + 1} of {progress.steps}" if progress.steps > 1 else ""
                bar.update(tasks[0], completed=progress.percent, description=f"{progress.stage}{steps}")

            yield cls(show)


def cancel(client: Client, waited: Waited) -> None:
    """Cancel what this command queued, and say what became of it."""
    from pairmark.client import ProblemError

    if waited.certification is None:
        return
    if not waited.own:
        complain(f"certification {waited.certification} goes on: somebody else asked for it first")
        return
    try:
        client.cancel_certification(waited.certification)
    except ProblemError as refused:
        complain(f"certification {waited.certification} is not cancelled: {refused}")
    else:
        complain(f"certification {waited.certification} is cancelled")
