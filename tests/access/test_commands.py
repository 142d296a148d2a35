"""`pairmark people`, and the first start of a service that wants keys, as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.serving import Process


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from pairmark.cli.main import main; raise SystemExit(main())", *words], check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True, text=True, timeout=120,
    )


def test_the_first_start_shows_one_admin_key_and_the_next_none(tmp_path: Path) -> None:
    data = tmp_path / "data"
    first = Process(data, tmp_path / "first.log", PAIRMARK_SIGN_IN="required")
    try:
        shown = [line.strip() for line in (tmp_path / "first.log").read_text().splitlines() if line.strip().startswith("pmk.")]
        assert len(shown) == 1
        who = run("people", "whoami", "--service", first.url, PAIRMARK_API_KEY=shown[0])
        assert (who.returncode, who.stderr) == (0, "")
        assert "may read, submit, register, review, administer" in who.stdout
        added = run("people", "add", "Ada", "--role", "submitter", "--service", first.url, PAIRMARK_API_KEY=shown[0])
        key = run("people", "key", "laptop", "--member", added.stdout.strip(), "--service", first.url, PAIRMARK_API_KEY=shown[0])
        assert "may read, submit\n" in run("people", "whoami", "--service", first.url, PAIRMARK_API_KEY=key.stdout.strip()).stdout
        refused = run("people", "add", "Eve", "--role", "admin", "--service", first.url, PAIRMARK_API_KEY=key.stdout.strip())
        assert refused.returncode == 2
        assert "[not-permitted]" in refused.stderr
        assert "Ada" in run("people", "list", "--service", first.url, PAIRMARK_API_KEY=shown[0]).stdout
        anonymous = run("people", "list", "--service", first.url)
        assert (anonymous.returncode, "[not-signed-in]" in anonymous.stderr) == (2, True)
        assert run("people", "revoke-key", key.stdout.split(".")[1], "--service", first.url, PAIRMARK_API_KEY=shown[0]).returncode == 0
        assert run("people", "whoami", "--service", first.url, PAIRMARK_API_KEY=key.stdout.strip()).returncode == 2
        assert run("people", "remove", added.stdout.strip(), "--service", first.url, PAIRMARK_API_KEY=shown[0]).returncode == 0
    finally:
        first.stop()
    second = Process(data, tmp_path / "second.log", PAIRMARK_SIGN_IN="required")
    try:
        assert "pmk." not in (tmp_path / "second.log").read_text()
        new = run("people", "admin-key", "--data", str(data))
        assert "may read, submit, register, review, administer" in run("people", "whoami", "--service", second.url, PAIRMARK_API_KEY=new.stdout.strip()).stdout
    finally:
        second.stop()


@pytest.mark.parametrize("key", ["ключ", "x\ny"])
def test_a_key_that_is_none_is_said_in_one_line(key: str) -> None:
    done = run("people", "whoami", "--service", "http://127.0.0.1:9", PAIRMARK_API_KEY=key)
    assert done.returncode == 2
    assert "[bad-key]" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr
