"""Workers that can be held at a stage: the real ones, but for a gate before the first step of that stage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairmark.app.stages import Stage
from tests.databases import settings_of
from tests.service.serving import Service

HOLD, GATE = "TEST_HOLD", "TEST_GATE"


def until(met: Callable[[], object], seconds: float = 90) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def held_at(stage: str, arrived: Callable[[], object], gone: Callable[[], bool]) -> type[Any]:
    """The worker's watch, which waits at a stage until `gone` or told to stop."""
    from pairmark.app import work_off

    class Held(work_off._Watch):
        def __call__(self, at: Stage, done: int, steps: int) -> None:
            held = at == stage and done == 0
            if held:
                self._next = 0.0  # what is shown while it is held is this
            super().__call__(at, done, steps)
            if held:
                arrived()
                while not gone() and not self._stopping():
                    time.sleep(0.02)
                self._next = 0.0
                super().__call__(at, done, steps)

    return Held


class WorkerProcess:
    """`pairmark worker` in a process of its own, with short waits; held at `hold` until `let_go`."""

    def __init__(self, folder: Path, name: str, hold: Stage | None = None, **environment: str) -> None:
        self.gate, self.log = folder.parent / f"{name}-gate", folder.parent / f"{name}-log"
        self.gate.mkdir()
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from tests.jobs.holding import main; main()"], stdout=out, stderr=out,
                env={
                    **os.environ, "PAIRMARK_DATA_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path), GATE: str(self.gate),
                    **{f"PAIRMARK_{name.upper()}": str(value) for name, value in settings_of(folder).items()},
                    **({} if hold is None else {HOLD: hold}), **environment,
                },
            )  # fmt: skip
        until(lambda: self.process.poll() is not None or "works off" in self.said)
        assert self.process.poll() is None, self.said

    @property
    def said(self) -> str:
        return self.log.read_text()

    def is_held(self) -> bool:
        """Whether it came to the stage."""
        assert self.process.poll() is None, self.said
        return (self.gate / "held").exists()

    def let_go(self) -> None:
        """Open the gate."""
        (self.gate / "go").touch()

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """As an operator does."""
        self.process.terminate()
        return self.process.wait(60)


def main() -> None:
    """What a worker process of the tests runs."""
    from pairmark.app import work_off
    from pairmark.cli.main import main as pairmark
    from pairmark.http import worker

    vars(worker)["IDLE_SECONDS"] = 0.3
    if "PAIRMARK_DATABASE_URL" in os.environ:
        from pairmark.adapters.jobs import running

        pace = running.Pace(heartbeat=0.3, dead=2.0, look=0.3, again=0.3)
        vars(running)["Pace"] = lambda: pace
    gate = Path(os.environ[GATE])
    if HOLD in os.environ:
        vars(work_off)["_Watch"] = held_at(os.environ[HOLD], (gate / "held").touch, (gate / "go").exists)
    sys.exit(pairmark(["worker"]))


def finished(service: Service, location: str) -> dict[str, Any]:
    """The result, waited for."""
    until(lambda: service.get(location).status_code != 202)
    answer = service.get(location)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())
