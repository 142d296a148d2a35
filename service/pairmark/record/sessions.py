"""Whether the process that began an episode still runs: each holds a lock on a file of its own for as long as it lives."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path


class Session:
    """One process' part in a run."""

    def __init__(self, folder: Path) -> None:
        import fcntl

        self.id = uuid.uuid4().hex
        self._path = folder / self.id
        self._descriptor = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def close(self) -> None:
        """Let go: what this process left open is now nobody's."""
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        os.close(self._descriptor)

    def leave_to_parent(self) -> None:
        """In a forked child: the lock stays the parent's alone."""
        os.close(self._descriptor)


def is_alive(folder: Path, session: str) -> bool:
    """Whether its process still holds the session's lock."""
    import fcntl

    try:
        descriptor = os.open(folder / session, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
