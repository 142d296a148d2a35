"""The reference cases that lie beside a development checkout, against the command `pairmark check`."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pairmark.cli.main import main
from tests.cli.running import COMMAND, ENVIRONMENT


@pytest.fixture(scope="session")
def runner(shared: Path) -> Path:
    found = shared / "cases" / "run.py"
    if not found.is_file():
        pytest.skip("the reference material has no conformance cases")
    return found


@pytest.fixture(scope="session")
def judging(runner: Path) -> ModuleType:
    """The cases' own judge, running the command in this process: loading the data-quality library costs seconds a time."""
    spec = importlib.util.spec_from_file_location("conformance_cases", runner)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _here(arguments: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments[1:])
        out.flush()
    return subprocess.CompletedProcess(arguments, code, out.buffer.getvalue().decode(), err.getvalue())


def test_every_case(judging: ModuleType, runner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tarfile.open(runner.with_name("cases.tar.xz")) as packed:
        packed.extractall(tmp_path, filter="data")
    cases = sorted(path.parent for path in tmp_path.glob("*/expected.json"))
    assert len(cases) >= 39
    monkeypatch.setattr(judging.subprocess, "run", _here)
    wrong = {case.name: found for case in cases if (found := judging.judge(case, ["pairmark"]))}
    assert wrong == {}


@pytest.mark.parametrize("case", ["certifies", "nan-in-ledger", "under-attack-far-above-benign"])
def test_in_processes_of_their_own(runner: Path, case: str) -> None:
    done = subprocess.run(
        [sys.executable, str(runner), "--only", case, "--jobs", "1", "--", *COMMAND],
        capture_output=True, text=True, check=False, timeout=300, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(" passed, 0 failed")


@pytest.mark.slow
def test_every_case_in_a_process_of_its_own(runner: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(runner), "--", *COMMAND], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_judge_can_fail(judging: ModuleType, runner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that certified everything would not pass."""
    with tarfile.open(runner.with_name("cases.tar.xz")) as packed:
        packed.extractall(tmp_path, filter="data")
    answer = subprocess.CompletedProcess([], 0, json.dumps({"verdict": "certified", "metrics": {}}), "")
    monkeypatch.setattr(judging.subprocess, "run", lambda *_, **__: answer)
    cases = [path.parent for path in tmp_path.glob("*/expected.json")]
    assert sum(bool(judging.judge(case, ["pairmark"])) for case in cases) > len(cases) // 2
