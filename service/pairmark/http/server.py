"""Runs the service."""

from __future__ import annotations

import os
from pathlib import Path

import uvicorn

from pairmark.http.app import create_app
from pairmark.http.settings import Settings


def serve(host: str | None = None, port: int | None = None, data_dir: Path | None = None) -> None:
    """Serve until told to stop (SIGINT, SIGTERM); what is given wins over the environment. Running requests may finish.

    Raises:
        Malformed, Unavailable: before anything is served.
    """
    settings = Settings.of(os.environ, host=host, port=port, data_dir=data_dir)
    server_of(settings).run()


def server_of(settings: Settings) -> uvicorn.Server:
    """A server for these settings, not started yet."""
    config = uvicorn.Config(
        create_app(settings), host=settings.host, port=settings.port, timeout_graceful_shutdown=settings.shutdown_seconds,
        server_header=False, log_level="info", proxy_headers=False,
    )
    return uvicorn.Server(config)
