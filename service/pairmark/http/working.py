"""A process that only works off queued certifications."""

from __future__ import annotations

import logging
import logging.config
import os
import signal
import threading
from pathlib import Path

from pairmark.adapters.telemetry.logs import log_config
from pairmark.http.app import create_app, let_go
from pairmark.http.settings import Settings

log = logging.getLogger("uvicorn.error")


def work(data_dir: Path | None = None) -> None:
    """Work off queued certifications until told to stop (SIGINT, SIGTERM); the one in hand may finish, or is handed back.

    Raises:
        Malformed, Unavailable: before anything is taken up.
    """
    settings = Settings.of(os.environ, data_dir=data_dir)
    logging.config.dictConfig(log_config(settings.log_format))
    told = threading.Event()
    before = {number: signal.signal(number, lambda _number, _frame: told.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        app = create_app(settings)
        app.state.worker.wake()
        log.info("Pairmark works off queued certifications of %s", settings.data_dir.absolute())
        told.wait()
        app.state.worker.stop(settings.shutdown_seconds)
        let_go(app)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
