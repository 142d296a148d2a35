"""Local copies of remote objects, for readers that have to seek: so many bytes are kept, the least recently used go first."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pairmark.adapters.ledgers.objects import COPIES, key_of


@dataclass(eq=False)
class _Copy:
    path: Path
    readers: int = 0
    size: int | None = None
    fetching: threading.Lock = field(default_factory=threading.Lock)


class Copies:
    """The copies of one process, in a folder of its own below scratch. A copy that is being read never goes."""

    def __init__(self, scratch: Path, limit: int) -> None:
        """`limit`: bytes that copies nobody reads may take together."""
        self._scratch, self._limit = scratch, limit
        self._copies: OrderedDict[str, _Copy] = OrderedDict()
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._held: int | None = None

    @contextmanager
    def of(self, digest: str, fetch: Callable[[Path], None]) -> Iterator[Path]:
        """A copy that `fetch` writes, unless there is one; readers of the same object wait for one fetch."""
        copy = self._taken(digest)
        try:
            with copy.fetching:
                if copy.size is None:
                    try:
                        fetch(copy.path)
                    except BaseException:
                        copy.path.unlink(missing_ok=True)
                        raise
                    copy.size = copy.path.stat().st_size
            yield copy.path
        finally:
            self._given_back(copy)

    def close(self) -> None:
        """Remove every copy."""
        with self._lock:
            self._copies.clear()
            if self._folder is not None and self._held is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                os.close(self._held)
            self._folder = self._held = None

    def _taken(self, digest: str) -> _Copy:
        with self._lock:
            copy = self._copies.get(digest)
            if copy is None:
                copy = self._copies[digest] = _Copy(self._place() / key_of(digest).replace("/", "-"))
            copy.readers += 1
            self._copies.move_to_end(digest)
            return copy

    def _given_back(self, copy: _Copy) -> None:
        with self._lock:
            copy.readers -= 1
            idle = [(digest, each) for digest, each in self._copies.items() if each.readers == 0]
            held = sum(each.size or 0 for _, each in idle)
            for digest, each in idle:
                if each.size is not None and held <= self._limit:
                    break
                held -= each.size or 0
                each.path.unlink(missing_ok=True)
                del self._copies[digest]

    def _place(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix=COPIES, dir=self._scratch))
            self._held = os.open(self._folder, os.O_RDONLY)
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as long as this process lives
        return self._folder
