"""`pairmark serve` as an operator runs it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.cli.running import COMMAND, ENVIRONMENT, Here, command, is_one_line


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_told_to_stop(tmp_path: Path, stop: signal.Signals) -> None:
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--data", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as running:
        assert running.stderr is not None
        try:
            said = ""
            while (found := re.search(r"http://127\.0\.0\.1:(\d+)", said)) is None:
                line = running.stderr.readline()
                assert line, said
                said += line
            assert httpx.get(f"{found[0]}/healthz", timeout=30, trust_env=False).json() == {"status": "ok"}
            running.send_signal(stop)
            said += running.stderr.read()
            code = running.wait(60)
        finally:
            running.kill()
    assert "Traceback" not in said
    assert code in (0, -stop, 128 + stop), said


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = command("serve", "--port", str(taken.getsockname()[1]), "--data", tmp_path)
    assert done.code == 69
    assert "ddress already in use" in done.err
    assert is_one_line(done.err)


def test_bad_settings(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRMARK_PORT", "many")
    done = here("serve", "--data", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)
    assert "PAIRMARK_PORT" in done.err
