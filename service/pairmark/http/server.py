"""Runs the service."""

from __future__ import annotations

import logging
import os
import socket
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from pairmark.adapters.telemetry.logs import log_config
from pairmark.adapters.telemetry.numbers import FOLDER_VARIABLE, forget_dead_processes
from pairmark.app.errors import Unavailable
from pairmark.domain.errors import shown
from pairmark.http.access import first_admin_key
from pairmark.http.app import create_app, let_go
from pairmark.http.protocol import BoundedConfig, BoundedProtocol, Bounds
from pairmark.http.settings import Settings

log = logging.getLogger("uvicorn.error")

BACKLOG = 2048
"""Connections that may wait to be accepted."""


def serve(host: str | None = None, port: int | None = None, data_dir: Path | None = None, workers: int | None = None) -> None:
    """Serve until told to stop (SIGINT, SIGTERM); what is given wins over the environment. Running requests may finish.

    Raises:
        Malformed, Unavailable: before anything is served; the address may be in use.
    """
    settings = Settings.of(os.environ, host=host, port=port, data_dir=data_dir, workers=workers)
    log_config(settings.log_format)
    # The address first: a service that cannot listen makes no database and no keys.
    with closing(listening_socket(settings.host, settings.port)) as listener, suppress(KeyboardInterrupt):
        if settings.workers > 1:
            _serve_together(settings, listener)
            return
        app = create_app(settings)
        server = server_of(settings, app)
        _tell_of_new_keys(app)
        log.info("Pairmark serves %s from %s", _url_of(listener), settings.data_dir.absolute())
        server.run(sockets=[listener])


def _serve_together(settings: Settings, listener: socket.socket) -> None:
    """Several processes on one socket; one that dies is replaced. This process serves nothing itself."""
    from uvicorn.supervisors import Multiprocess

    with tempfile.TemporaryDirectory(prefix="pairmark-numbers-") as numbers:
        os.environ.update({FOLDER_VARIABLE: numbers, **settings.environment()})
        config = config_of(settings, "pairmark.http.server:app_of_environment")
        app = create_app(settings)  # once, before the others: migrations, keys, what a killed service left
        _tell_of_new_keys(app)
        let_go(app)
        log.info("Pairmark serves %s from %s in %d processes", _url_of(listener), settings.data_dir.absolute(), settings.workers)
        Multiprocess(config, sockets=[listener]).run()


def app_of_environment() -> FastAPI:
    """The application of a process that serves together with others."""
    settings = Settings.of(os.environ)
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is not None:
        forget_dead_processes(Path(folder))
    return create_app(settings)


def _tell_of_new_keys(app: FastAPI) -> None:
    services = app.state.services
    if services.access.wants_sign_in:
        token = first_admin_key(services.database, services.new_id, services.clock)
        if token is not None:  # not a log record: logs are kept, and this must not be
            sys.stderr.write(f"Nobody may sign in yet. This key is an admin's, and is shown only now:\n\n    {token}\n\n")
            sys.stderr.flush()
    if services.made_keys:
        log.warning(
            "made the keys of a new log in %s: keep them and their high-water mark out of copies of the database; others pin %s",
            services.settings.keys_dir.absolute(), services.signing.chain.root_digest,
        )  # fmt: skip


def _url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens on this address.

    Raises:
        Unavailable: it is in use, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as problem:
        listener.close()
        raise Unavailable(
            "cannot-listen", f"expected to listen on {shown(host)} port {port}, found: {problem.strerror or problem}",
            "choose another port (--port) or address (--host)",
        ) from None
    return listener


def config_of(settings: Settings, app: FastAPI | str) -> BoundedConfig:
    """How uvicorn is to serve an application, or the one that a factory named `module:function` makes."""
    config = BoundedConfig(
        app, factory=isinstance(app, str), host=settings.host, port=settings.port, timeout_graceful_shutdown=settings.shutdown_seconds,
        http=BoundedProtocol, h11_max_incomplete_event_size=settings.max_header_bytes, workers=settings.workers, ws="none",
        server_header=False, access_log=False, log_level="info", log_config=log_config(settings.log_format), proxy_headers=False,
    )  # fmt: skip
    config.bounds = Bounds(settings.header_seconds, settings.upload_seconds, settings.max_header_bytes, settings.max_connections)
    return config


def server_of(settings: Settings, app: FastAPI | None = None) -> uvicorn.Server:
    """A server for these settings, not started yet."""
    return uvicorn.Server(config_of(settings, create_app(settings) if app is None else app))
