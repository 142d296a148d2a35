"""The real service, on a port of this machine, for as long as the demo lasts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pairmark.app.errors import Unavailable

START_SECONDS: Final = 30.0


@contextmanager
def running_service(data: Path) -> Iterator[str]:
    """The URL of a service over the embedded database in `data`.

    Raises:
        Unavailable: it did not start.
    """
    import uvicorn

    from pairmark.http.app import create_app
    from pairmark.http.settings import Settings

    app = create_app(Settings(data_dir=data))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", server_header=False))
    thread = threading.Thread(target=server.run, name="pairmark-demo-service", daemon=True)
    thread.start()
    try:
        until = time.monotonic() + START_SECONDS
        while not server.started:
            if not thread.is_alive() or time.monotonic() > until:
                raise Unavailable(
                    "not-started", "expected the service to start on 127.0.0.1, found that it did not", "try again"
                )
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)
