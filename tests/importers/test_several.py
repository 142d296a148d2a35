"""What several processes read is what one reads, whatever becomes of the helpers."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.errors import Malformed
from pairmark.importers.agentdojo import several
from pairmark.importers.agentdojo.folder import Shelf
from pairmark.importers.agentdojo.part import read_part
from pairmark.importers.base import Imported
from tests.importers.logs import manifest, obeyed, put, read, record

TASKS, INJECTIONS = 6, 3
HELPER = several._START


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    """Two epochs; a file of each is damaged, and one lies in the wrong place."""
    folders = [tmp_path / f"seed-{seed}" / "model" for seed in (3, 7)]
    for folder in folders:
        for task in range(TASKS):
            for injection in range(INJECTIONS):
                put(folder, record(f"user_task_{task}", f"injection_task_{injection}", messages=obeyed(), duration=task + injection / 8))
        put(folder, b"{", "bank/user_task_2/important_instructions/injection_task_1.json")
        put(folder, record("user_task_0", "injection_task_0"), "bank/user_task_4/important_instructions/injection_task_2.json")
    return folders


def read_all(logs: list[Path]) -> Imported:
    return read(logs, value=manifest({"bank": (TASKS, INJECTIONS)}, epochs=2))


def told(found: Imported) -> list[Any]:
    assert found.places is not None
    return [found.run, found.episodes.to_dicts(), found.places.to_dicts(), found.unreadable, found.set_aside, found.notes]


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[int]]:
    """Few files are enough for two helpers that run a script; this process waits for the first that is done or gone."""

    def begin(script: str) -> list[int]:
        answered: list[int] = []
        heard = threading.Event()
        part_from, run = several._part_from, several._Helper._run

        def waiting(*given: Any, **named: Any) -> Any:
            assert heard.wait(60)
            return read_part(*given, **named)

        def noting(line: bytes) -> Any:
            answered.append(len(line))
            heard.set()
            return part_from(line)

        def running(helper: Any) -> None:
            run(helper)
            heard.set()

        for name, value in {
            "read_part": waiting, "_part_from": noting, "_cores": lambda: 3, "FILES_WORTH_A_HELPER": 1, "FILES_OF_A_PART": 2, "_START": script,
        }.items():  # fmt: skip
            monkeypatch.setattr(several, name, value)
        monkeypatch.setattr(several._Helper, "_run", running)
        return answered

    return begin


def test_helpers_read_what_one_process_reads(logs: list[Path], helped: Callable[[str], list[int]]) -> None:
    alone = told(read_all(logs))
    answered = helped(HELPER)
    assert told(read_all(logs)) == alone
    assert answered
    assert len(alone[3]) == 4


def test_no_helper_is_left(logs: list[Path], helped: Callable[[str], list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    helped(HELPER)
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def starting(*given: Any, **named: Any) -> Any:
        started.append(start(*given, **named))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", starting)
    read_all(logs)
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)


@pytest.mark.parametrize(
    "script",
    [
        "raise SystemExit",
        "print('[]', flush=True)",
        HELPER.replace("help_out(sys.stdin", "several._identity = lambda: ['another']; help_out(sys.stdin").replace("; several", "; from pairmark.importers.agentdojo import several; several"),
        HELPER.replace("help_out(sys.stdin.buffer, sys.stdout.buffer)", "o = sys.stdout.buffer; [(o.write(b), o.flush()) for b in [HELLO, b'[{']]"),
        HELPER.replace("help_out(sys.stdin.buffer, sys.stdout.buffer)", "o = sys.stdout.buffer; [(o.write(b), o.flush()) for b in [HELLO, b'no JSON\\n']]"),
    ],
    ids=["it ends at once", "it says nothing that is known", "it is of another installation", "it ends in the middle", "it answers nonsense"],
)  # fmt: skip
def test_a_helper_that_fails_is_done_without(logs: list[Path], helped: Callable[[str], list[int]], script: str) -> None:
    alone = told(read_all(logs))
    helped(script.replace("HELLO", "json.dumps(__import__('pairmark.importers.agentdojo.several', fromlist=['x'])._identity()).encode() + b'\\n'"))
    assert told(read_all(logs)) == alone


@pytest.mark.parametrize("executable", ["", "/nowhere/python", "/bin/true"])
def test_where_no_process_can_be_started_none_is(logs: list[Path], monkeypatch: pytest.MonkeyPatch, executable: str) -> None:
    alone = told(read_all(logs))
    monkeypatch.setattr(several, "FILES_WORTH_A_HELPER", 1)
    monkeypatch.setattr(several, "_cores", lambda: 8)
    monkeypatch.setattr(sys, "executable", executable)
    assert told(read_all(logs)) == alone


def test_files_of_two_versions_are_refused_alike(logs: list[Path], helped: Callable[[str], list[int]]) -> None:
    put(logs[1], record("user_task_5", "injection_task_2", benchmark_version="v1"))
    put(logs[0], record("user_task_3", "injection_task_2", benchmark_version="v1"))

    def refusal() -> str:
        with pytest.raises(Malformed, match="mixed-benchmark-versions") as refused:
            read_all(logs)
        return str(refused.value)

    alone = refusal()
    helped(HELPER)
    assert refusal() == alone


def test_few_files_start_no_process(logs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **named: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert read_all(logs).episodes.height == 2 * TASKS * INJECTIONS


def test_every_file_is_of_one_part_and_the_order_is_kept() -> None:
    shelves = [Shelf("", "", str(number), "", [f"{name}.json" for name in range(number * 70)], []) for number in range(1, 12)]
    parts = several.parts_of(shelves)
    assert [shelf for part in parts for shelf in part] == shelves
    assert max(sum(len(shelf.names) for shelf in part) for part in parts) < several.FILES_OF_A_PART + 70 * 11


def test_a_helper_starts_without_tables_and_documents() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, pairmark.importers.agentdojo.several; print([m for m in ('polars', 'pydantic') if m in sys.modules])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
