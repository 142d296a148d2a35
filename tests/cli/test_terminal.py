"""Terminals, pipes, encodings, interruptions and bugs."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pairmark.cli import rules
from tests.cli.running import COMMAND, ENVIRONMENT, Here, command, is_one_line


def _on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """What the command writes to a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=follower,
        stderr=follower,
        stdin=follower,
        env={**ENVIRONMENT, "TERM": "xterm", **environment},
    ) as running:
        os.close(follower)
        written = b""
        while True:
            try:
                chunk = os.read(leader, 65_536)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            written += chunk
        running.wait(60)
    os.close(leader)
    return written.decode()


def test_colours_only_where_a_person_looks() -> None:
    arguments = ["rules", "explain", "tools-match"]
    assert "\x1b[1m" in _on_a_terminal(arguments, {})
    assert "\x1b" not in _on_a_terminal(arguments, {"NO_COLOR": "1"})
    assert "\x1b" not in _on_a_terminal(arguments, {"TERM": "dumb"})
    assert "\x1b" not in command(*arguments).out


def test_an_encoding_without_the_marks(pair: Path) -> None:
    (pair / "attacked/episodes.jsonl").write_bytes((pair / "attacked/episodes.jsonl").read_bytes())
    options = [
        "--suite",
        str(pair / "suite.json"),
        "--benign",
        str(pair / "benign"),
        "--attacked",
        str(pair / "attacked"),
    ]
    done = command("check", *options, environment={"PYTHONIOENCODING": "ascii"})
    assert done.code == 1  # the attacked run has a defense, and there is no baseline
    assert done.out.isascii()
    assert "x FAILED          baseline-undefended" in done.out
    assert "+ passed          tools-match" in done.out


@pytest.mark.parametrize("arguments", [["rules", "list"], ["--help"], ["suite", "show", "suite.json", "--cells"]])
def test_a_reader_that_goes_away(pair: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=ENVIRONMENT,
        cwd=pair,
    )
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "rules", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT
        )
    assert done.returncode == 74
    assert is_one_line(done.stderr)


def test_an_interruption() -> None:
    program = "import time, pairmark.cli.rule_index as r; r.declared_rules = lambda: (print('ready', flush=True), time.sleep(60)); "
    program += "import sys; from pairmark.cli.main import main; sys.exit(main(['rules', 'list']))"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "ready\n"
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert "Traceback" not in running.stderr.read()


def test_a_bug_is_one_line_with_a_way_to_the_traceback(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_rows: object) -> list[str]:
        raise ZeroDivisionError("one\ntwo\u202e")

    monkeypatch.setattr(rules, "table", broken)
    done = here("rules", "list")
    assert (done.code, done.out) == (70, "")
    assert is_one_line(done.err)
    assert "this is a bug" in done.err
    assert "ZeroDivisionError" in done.err
    monkeypatch.setenv("PAIRMARK_DEBUG", "1")
    shown = here("rules", "list")
    assert shown.code == 70
    assert shown.err.startswith("Traceback (most recent call last):")
    assert shown.err.splitlines()[-1] == done.err.rstrip("\n")


def test_an_unwritable_place(here: Here, pair: Path) -> None:
    (pair / "file").write_bytes(b"")
    done = here("db", "upgrade", "--data", pair / "file" / "data")
    assert done.code in (2, 69, 74)
    assert is_one_line(done.err)
