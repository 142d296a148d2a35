"""How far an upload is: a bar for whoever looks at a terminal, nothing for a program, and never on standard output."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairmark.cli.demo_service import running_service
from pairmark.cli.progress import LARGE_BYTES
from pairmark.client import Client
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from tests.cli.running import COMMAND, ENVIRONMENT, write
from tests.service.wide import ROW_BYTES, ROWS, wide

BAR = re.compile(r"uploading .*\d+\.\d/\d+\.\d MB")
ERASE_LINE = "\x1b[2K"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_service(tmp_path_factory.mktemp("service")) as url:
        with Client(url) as client:
            client.register_suite(canonical_bytes(World().suite_manifest()))
        yield url


def submitted(url: str, bundle: Path, *, terminal: bool) -> tuple[str, str]:
    """What `pairmark submit` writes to standard output, which is piped, and to standard error, which may be a terminal."""
    leader, follower = pty.openpty() if terminal else os.pipe()
    written: list[bytes] = []

    def read() -> None:
        while True:
            try:
                chunk = os.read(leader, 65_536)
            except OSError:  # the other side of a terminal is closed
                return
            if not chunk:
                return
            written.append(chunk)

    reading = threading.Thread(target=read)
    reading.start()
    done = subprocess.run(
        [*COMMAND, "submit", str(bundle), "--service", url], stdout=subprocess.PIPE, stderr=follower, check=False, timeout=120,
        env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(follower)
    reading.join(60)
    os.close(leader)
    said = b"".join(written).decode()
    assert done.returncode == 0, said
    return done.stdout.decode(), said


def is_result(out: str) -> bool:
    return out.count("\n") == 1 and out.startswith("run-") and out[:-1].isprintable()


def test_a_large_upload_shows_a_bar_on_a_terminal_and_leaves_none(url: str, tmp_path: Path) -> None:
    assert ROWS * ROW_BYTES > LARGE_BYTES
    write(wide(seed=1), tmp_path)
    out, said = submitted(url, tmp_path / "attacked", terminal=True)
    assert BAR.search(said)
    assert said.rpartition("uploading")[2].rstrip("\r\n").endswith((ERASE_LINE, "\x1b[?25h"))
    assert ERASE_LINE in said.rpartition("uploading")[2]
    assert is_result(out)


def test_a_small_upload_shows_none(url: str, tmp_path: Path) -> None:
    write(World(), tmp_path)
    out, said = submitted(url, tmp_path / "attacked", terminal=True)
    assert "uploading" not in said
    assert is_result(out)


def test_a_program_is_shown_none(url: str, tmp_path: Path) -> None:
    write(wide(seed=2), tmp_path)
    out, said = submitted(url, tmp_path / "attacked", terminal=False)
    assert said == ""
    assert is_result(out)
