"""`pairmark serve` in a process of its own, as an operator runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cli.running import COMMAND, ENVIRONMENT

START_SECONDS = 90


class Server:
    """A server on a free port; a context, stopped and waited for at its end."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        """`folder` holds its data and its log; `environment` are variables."""
        self._log = folder / "server.log"
        with self._log.open("wb") as out:
            self.process = subprocess.Popen(
                [*COMMAND, "serve", "--port", "0", "--data", str(folder / "data"), *options], stdout=out, stderr=out,
                env={**ENVIRONMENT, **environment}, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        while (found := re.search(r"serves (http://[^\s\"]+)", self.log())) is None:
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < until, self.log()
            time.sleep(0.05)
        self.url = found[1]
        self.port = int(self.url.rpartition(":")[2])

    def log(self) -> str:
        """What it has said."""
        return self._log.read_text()

    def stop(self, seconds: float = 40) -> int:
        """Tell it to stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
