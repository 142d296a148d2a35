"""One other thread for long work that lets go of the interpreter: hashing, compressing, writing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self

P = ParamSpec("P")


class Background:
    """Does one thing at a time, in order, while the caller goes on; what a task raises, the next call raises. A context.

    Every call a task makes has to get the interpreter back afterwards, which waits for the caller to let go of it
    (milliseconds while it parses): so tasks should be a few long calls, not many short ones.
    """

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._pending: Future[None] | None = None

    def do(self, task: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Wait for the task before, then start this one."""
        self.wait()
        self._pending = self._worker.submit(task, *args, **kwargs)

    def wait(self) -> None:
        """Until nothing is under way."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def close(self) -> None:
        """Stop; what is under way is finished, its failure is of no interest any more."""
        self._worker.shutdown(wait=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
