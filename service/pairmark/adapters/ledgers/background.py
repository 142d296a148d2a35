"""One other thread for long work that lets go of the interpreter: hashing, compressing, writing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self

P = ParamSpec("P")


class Background:
    """Does one thing at a time, in order, while the caller goes on; what a task raises, a later call raises. A context.

    Every call a task makes has to get the interpreter back afterwards, which waits for the caller to let go of it
    (milliseconds while it parses): so tasks should be a few long calls, not many short ones.
    """

    def __init__(self, ahead: int = 1) -> None:
        """`ahead`: how many tasks may wait or run before the caller has to wait as well."""
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._ahead = ahead
        self._pending: deque[Future[None]] = deque()

    def do(self, task: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Start this task after those before it; wait if too many are."""
        while len(self._pending) >= self._ahead:
            self._pending.popleft().result()
        self._pending.append(self._worker.submit(task, *args, **kwargs))

    def wait(self) -> None:
        """Until nothing is under way."""
        while self._pending:
            self._pending.popleft().result()

    def close(self) -> None:
        """Stop; what is under way is finished, the rest dropped, and no failure is of interest any more."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
