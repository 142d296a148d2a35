"""What the recording processes of these tests do. Imported by each of them, so it stays light."""

from __future__ import annotations

import logging
import os
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

from pairmark.record import Run

BEGUN, ENDED = b"b", b"e"


def tell(descriptor: int, kind: bytes, number: int) -> None:
    """One whole line: what was handed out is known to whoever outlives this process."""
    os.write(descriptor, b"%s %d\n" % (kind, number))


def write_until_killed(folder: Path, handed_out: Path) -> None:
    """Record episode after episode; note each that has begun, and each of whose end the recorder returned."""
    descriptor = os.open(handed_out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    run = Run.resume(folder)
    for episode in run.remaining():
        number = int(episode.task_id.removeprefix("task_"))
        with episode:
            tell(descriptor, BEGUN, number)
            episode.utility = number % 2 == 0
            episode.transcript_digest = f"sha256:{number:064x}"
            time.sleep(0.002)  # so that some kills fall into an episode
        tell(descriptor, ENDED, number)


def share(folder: Path, barrier: Barrier) -> None:
    """Once all are there, take part until nothing is left; every seventh task's cells fail once."""
    logging.getLogger("pairmark.record").setLevel(logging.CRITICAL)
    with Run.join(folder, sync="finish") as run:
        barrier.wait(60)
        for episode in run.remaining():
            with episode:
                if int(episode.task_id[5:]) % 7 == 0 and episode.attempt == 1:
                    raise ConnectionError("503")
                episode.utility = True
                episode.attacker_actions = os.getpid()


def work(argument: tuple[Run, str, str]) -> int:
    """One cell of a pool's work; the run comes along with it."""
    run, task, injection = argument
    with run.episode(task, injection) as episode:
        episode.utility = True
    return os.getpid()
