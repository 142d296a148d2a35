"""Servers that start quickly, for tests that kill them often: each is forked from a process that has everything imported.

A nursery answers `start` with the server's process id, and `kill` once that is gone. It ends, with its server, when its standard input ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.databases import settings_of
from tests.service.door import TOKEN, token_for
from tests.service.serving import settings_in

LOG = "TEST_LOG"
"""Variable that tells a nursery of the file that a server writes to."""


class Nursery:
    """One server at a time, on the data of one folder."""

    def __init__(self, folder: Path, log: Path, **environment: str) -> None:
        self._log, token = log, token_for(settings_in(folder))
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.service.nursery import main; main()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={
                **os.environ, "PAIRMARK_DATA_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path), LOG: str(log),
                **{f"PAIRMARK_{name.upper()}": str(value) for name, value in settings_of(folder).items()},
                **({} if token is None else {TOKEN: token}), **environment,
            },
        )  # fmt: skip
        self.url = ""

    def start(self) -> None:
        """Start the server, and wait until it answers at `url`."""
        self._log.write_text("")
        pid, until = int(self._asked("start")), time.monotonic() + 60
        while "serves http://" not in (text := self._log.read_text()):
            assert time.monotonic() < until, text
            os.kill(pid, 0)  # still there
            time.sleep(0.01)
        self.url = "http://" + text.split("serves http://")[1].split()[0]

    def kill(self) -> None:
        """As `kill -9` does."""
        self._asked("kill")

    def end(self) -> None:
        """Kill the server, and end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _asked(self, what: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


def main() -> None:
    """What a nursery's process runs."""
    import great_expectations  # noqa: F401 - what a server imports when it first gives a verdict

    from pairmark.http.app import create_app, let_go
    from pairmark.http.settings import Settings
    from tests.service.door import serve

    with tempfile.TemporaryDirectory() as scratch:  # what a first application works out is there for all further ones
        let_go(create_app(Settings(data_dir=Path(scratch))))
    server = 0
    for asked in sys.stdin:
        if asked.strip() == "start":
            server = os.fork()
            if server == 0:
                log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND)
                for number in (1, 2):
                    os.dup2(log, number)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                serve()
                os._exit(0)
        elif server:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
        print(server, flush=True)
        server = 0 if asked.strip() == "kill" else server
    if server:
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
