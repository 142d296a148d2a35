"""The backups of docs/database.md: made while a service writes, restored into an empty place, and refused where they are too old."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from pairmark.adapters.log.mark import MARK_FILE
from pairmark.adapters.sql.migrate import drift
from pairmark.app.errors import Unavailable
from tests.databases import drop
from tests.log.filling import LoggingService
from tests.postgres import server


def run(program: str, *arguments: str) -> None:
    done = subprocess.run([str(server().programs / program), *arguments], capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stderr


def libpq(url: str) -> str:
    """The URL as PostgreSQL's own programs want it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def back_up(kind: str, url: str, target: Path) -> None:
    if kind == "sqlite":
        source, copy = sqlite3.connect(str(make_url(url).database)), sqlite3.connect(target)
        source.backup(copy)
        source.close()
        copy.close()
    else:
        run("pg_dump", "--format=custom", "--no-owner", f"--file={target}", libpq(url))


def restore(kind: str, backup: Path, folder: Path) -> str:
    """The backup in a place of its own: its URL."""
    if kind == "sqlite":
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(backup, folder / "pairmark.db")
        return f"sqlite:///{folder / 'pairmark.db'}"
    url = server().url(server().empty())
    run("pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", f"--dbname={libpq(url)}", str(backup))
    return url


def forget(kind: str, url: str) -> None:
    if kind == "postgresql":
        drop(str(make_url(url).database))


def test_a_backup_made_under_load_is_whole_and_the_newest_one_is_accepted(kind: str, migrated_url: str, tmp_path: Path) -> None:
    log, stop, failed = LoggingService.at(tmp_path / "data", migrated_url), threading.Event(), list[Any]()

    def write() -> None:
        try:
            while not stop.is_set():
                log.announce()
        except BaseException as problem:  # noqa: BLE001 - looked at below
            failed.append(problem)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        for _ in range(3):
            log.announce()
        back_up(kind, migrated_url, tmp_path / "early")
    finally:
        stop.set()
        writing.join(60)
    assert failed == []
    back_up(kind, migrated_url, tmp_path / "latest")
    size = log.size()
    log.database.close()

    url = restore(kind, tmp_path / "latest", tmp_path / "restored")
    assert drift(url) == []
    again = LoggingService.at(tmp_path / "data", url)  # keys and mark stayed where they were
    assert again.size() == size
    entry, index = again.announce()
    assert again.holds(entry, again.receipt(index))
    assert again.faults() == []
    again.database.close()
    forget(kind, url)

    old = restore(kind, tmp_path / "early", tmp_path / "old")
    with pytest.raises(Unavailable, match=r"expected a log of at least \d+ entries .*high-water-mark\.json.*, found \d+") as refused:
        LoggingService.at(tmp_path / "data", old)
    assert refused.value.code == "log-forked"
    forget(kind, old)


def test_an_old_backup_with_an_old_mark_beside_it_is_accepted_which_is_why_the_mark_stays_out(
    kind: str, migrated_url: str, tmp_path: Path
) -> None:
    log = LoggingService.at(tmp_path / "data", migrated_url)
    log.announce()
    back_up(kind, migrated_url, tmp_path / "early")
    mark = (tmp_path / "data" / "keys" / MARK_FILE).read_bytes()
    log.announce()
    log.database.close()
    old = restore(kind, tmp_path / "early", tmp_path / "old")
    with pytest.raises(Unavailable, match="log-forked"):
        LoggingService.at(tmp_path / "data", old)
    (tmp_path / "data" / "keys" / MARK_FILE).write_bytes(mark)
    again = LoggingService.at(tmp_path / "data", old)
    assert again.size() == 2  # and could sign another third entry: a fork that nobody here could notice
    again.database.close()
    forget(kind, old)


def test_a_restored_log_keeps_its_guards(kind: str, migrated_url: str, tmp_path: Path) -> None:
    from sqlalchemy.exc import DBAPIError

    log = LoggingService.at(tmp_path / "data", migrated_url)
    back_up(kind, migrated_url, tmp_path / "backup")
    log.database.close()
    url = restore(kind, tmp_path / "backup", tmp_path / "restored")
    again = LoggingService.at(tmp_path / "data", url)
    with pytest.raises(DBAPIError, match="append-only"), again.database.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM log_nodes")
    again.database.close()
    forget(kind, url)
