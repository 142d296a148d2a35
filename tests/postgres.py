"""A PostgreSQL server of the tests' own: in a temporary folder, on a Unix socket that only this user and root can reach.

`server()` is started once for each test process, when a test first asks for it. Every test has a database of its own, copied from a
migrated template. The server ends with the process that started it, even if that is killed: a shell waits at its standard input.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import logging
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

OWNER = "pairmark"
"""Name of the role that the tests connect as; it may do everything."""

UNTIL_THE_END = 'trap "" INT TERM; "$@" </dev/null & server=$!; read -r _ || true; kill -INT $server 2>/dev/null; wait $server'
"""Runs a server until standard input ends, then stops it."""

QUICK: Mapping[str, str] = {"fsync": "off", "full_page_writes": "off"}
"""For a server whose data nobody needs after a crash."""


def programs() -> Path | None:
    """Folder of PostgreSQL's own programs: from the path, `pg_config`, or where Debian puts them; None if there are none."""
    named = shutil.which("pg_config")
    asked = [subprocess.run([named, "--bindir"], capture_output=True, text=True, check=False).stdout.strip()] if named else []
    found = shutil.which("postgres")
    near = [Path(found).resolve().parent] if found else []
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: _version(path.parent.name), reverse=True)
    for folder in (*near, *(Path(text) for text in asked if text), *known):
        if all((folder / name).is_file() for name in ("postgres", "initdb", "pg_ctl")):
            return folder
    return None


def _version(name: str) -> int:
    return int(name) if name.isdigit() else -1


def _user() -> dict[str, Any]:
    """Who runs the server: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as")


class Server:
    """A cluster in a folder of its own, which can be stopped hard and started again."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        found = programs()
        if found is None:
            pytest.skip("the programs of PostgreSQL are not installed: no postgres on the path, no pg_config, no /usr/lib/postgresql")
        self.programs = found
        self._user = _user()
        # Not pytest's folder: the path of a socket is at most 107 bytes, and the server's user has to reach it.
        self.folder = Path(tempfile.mkdtemp(prefix="pairmark-pg-"))
        if self._user:
            os.chown(self.folder, self._user["user"], self._user["group"])
        self.data = self.folder / "data"
        self._settings = dict(QUICK if settings is None else settings)
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self._make()
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.programs / program), *arguments], capture_output=True, text=True, cwd=self.folder, check=False, **self._user
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _make(self) -> None:
        self._run(
            "initdb", "--no-sync", "--auth=trust", f"--username={OWNER}", "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions",
            "-D", str(self.data),
        )  # fmt: skip

    def start(self) -> None:
        """Start, and wait until it answers."""
        settings = {
            "listen_addresses": "", "unix_socket_directories": str(self.folder), "max_connections": "200", "shared_buffers": "32MB",
            "autovacuum": "off", "log_min_messages": "fatal", **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", UNTIL_THE_END, "sh", str(self.programs / "postgres"), "-D", str(self.data), *options],
                stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=self.folder, start_new_session=True, **self._user,
            )  # fmt: skip
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres", driver="postgresql"), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.folder / "server.log").read_text()
                assert time.monotonic() < until, (self.folder / "server.log").read_text()
                time.sleep(0.02)

    def stop(self, mode: str = "fast") -> None:
        """Stop, as `pg_ctl` does: `fast`, or `immediate`, which is a crash."""
        self._run("pg_ctl", "stop", "-D", str(self.data), "-m", mode, "-w", "-t", "60")
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(60)
        self._process = None

    def end(self) -> None:
        """Stop for good and remove everything."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(60)
            self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, driver: str = "postgresql+psycopg") -> str:
        """URL of a database of this server."""
        return f"{driver}://{OWNER}@/{database}?host={quote(str(self.folder), safe='')}"

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement outside any transaction; its rows."""
        with psycopg.connect(self.url(database, driver="postgresql"), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []

    def empty(self) -> str:
        """A new database with nothing in it: its name."""
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    @functools.cached_property
    def template(self) -> str:
        """A migrated database that nobody is connected to."""
        from pairmark.adapters.sql.migrate import upgrade

        name = self.empty()
        upgrade(self.url(name))
        return name

    def migrated(self) -> str:
        """A new migrated database: its name."""
        template, name = self.template, f"test_{os.getpid()}_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def replace(self, name: str, by: str) -> None:
        """Put a copy of another database, which nobody may be connected to, in the place of this one."""
        self.drop(name)
        self.run(f"CREATE DATABASE {name} TEMPLATE {by}")

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@functools.cache
def server() -> Server:
    """The server of this test process."""
    made = Server()

    def end() -> None:
        logging.disable(logging.CRITICAL)  # threads that tests left behind would tell the closed output that their database is gone
        made.end()

    atexit.register(end)
    return made
