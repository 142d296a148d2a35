"""A process that writes the log and hands out receipts until it is killed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from tests.log.filling import LoggingService


def write_until_killed(folder: str, handed_out: str) -> None:
    """Announce from three threads; each receipt is handed out as one line: index, entry and receipt in hex."""
    log = LoggingService.at(Path(folder))
    target = os.open(handed_out, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write() -> None:
        while True:
            entry, index = log.announce()
            os.write(target, f"{index} {entry.hex()} {log.receipt(index).hex()}\n".encode())

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
