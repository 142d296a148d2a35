"""`pairmark certify` shows how far a queued certification is, and cancels what it queued on Ctrl-C."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pairmark.app import work_off as working
from pairmark.client import Client, ProblemError
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from pairmark.http.models import CertificationAnswer
from tests.databases import SQLITE_ONLY, rows_of
from tests.jobs.holding import held_at
from tests.service.serving import JSON, NDJSON, listening

pytestmark = SQLITE_ONLY


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What the service's own worker waits for before its first rule."""
    event = threading.Event()
    monkeypatch.setattr(working, "_Watch", held_at("rules", lambda: None, event.is_set))
    yield event
    event.set()


@pytest.fixture
def url(folder: Path, gate: threading.Event) -> Iterator[str]:
    with listening(folder, wait_episodes=10) as found:
        yield found
        gate.set()


def handed_in(url: str, world: World) -> dict[str, str]:
    ids: dict[str, str] = {}
    httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON, timeout=60).raise_for_status()
    for role in world.sides:
        ids[role] = httpx.post(f"{url}/v1/runs", content=canonical_bytes(world.run(role)), headers=JSON, timeout=60).json()["id"]
        ledger = world.files()[f"{role}/episodes.jsonl"]
        httpx.put(f"{url}/v1/runs/{ids[role]}/episodes", content=ledger, headers=NDJSON, timeout=60).raise_for_status()
    return ids


def until_said(terminal: int, pattern: str) -> str:
    """All that a terminal shows until it shows this."""
    said = ""
    while re.search(pattern, said) is None:
        assert select.select([terminal], [], [], 120)[0], said
        part = os.read(terminal, 65_536)
        assert part, said
        said += part.decode(errors="replace")
    return said


def test_ctrl_c_cancels_what_it_queued(url: str, folder: Path, world: World) -> None:
    ids = handed_in(url, world)
    terminal, end = pty.openpty()
    given = [part for role, run in ids.items() for part in (f"--{role}", run)]
    code = "import sys; from pairmark.cli.main import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "certify", *given, "--service", url], stdout=subprocess.PIPE, stderr=end,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(end)
    try:
        until_said(terminal, r"rules 1 of \d+")
        process.send_signal(signal.SIGINT)
        said = until_said(terminal, r"certification certification-\w+ is cancelled")
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)
    assert "Traceback" not in said
    assert rows_of(folder, "SELECT count(*) FROM cancelled_certifications") == [(1,)]


def test_a_client_learns_how_far_it_is_and_who_asked_first(url: str, world: World, gate: threading.Event) -> None:
    ids, told = handed_in(url, world), list[tuple[CertificationAnswer, bool]]()
    with Client(url) as client:
        def waiting(answer: CertificationAnswer, own: bool) -> None:
            told.append((answer, own))
            if answer.progress is not None and answer.progress.stage == "rules":
                gate.set()

        done = client.certify(ids["benign"], ids["attacked"], ids.get("baseline"), waiting=waiting)
        assert done.model.state == "done"
        assert all(own for _, own in told)
        shares = [answer.progress.percent for answer, _ in told if answer.progress is not None]
        assert shares == sorted(shares)
        assert 30 in shares
        with pytest.raises(ProblemError) as refused:
            client.cancel_certification(done.model.id)
        assert refused.value.code == "already-done"
