"""Running the command: in this process for speed, or as a person does, in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import pairmark
from pairmark.cli.main import main
from pairmark.domain.world import World

COMMAND = [sys.executable, "-m", "pairmark.cli.main"]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("PAIRMARK_", "PYTHON", "NO_COLOR"))},
    "PYTHONPATH": str(Path(pairmark.__file__).parents[1]),
}


@dataclass(frozen=True)
class Done:
    """What a run of the command left."""

    code: int
    out: str
    err: str


class Here:
    """The command in this process. Bytes on standard output are decoded as UTF-8."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str | Path) -> Done:
        self._capture.readouterr()
        code = main([str(argument) for argument in arguments])
        sys.stdout.flush()
        sys.stderr.flush()
        written = self._capture.readouterr()
        return Done(code, written.out.decode(), written.err.decode())


def command(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    input_: bytes | None = None,
) -> Done:
    """The command in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, check=False, timeout=120, cwd=cwd, input=input_,
        env={**ENVIRONMENT, **(environment or {})},
    )  # fmt: skip
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def write(world: World, folder: Path) -> list[str]:
    """Write a world's files, and return the options that name them."""
    for name, content in world.files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [
        "--suite",
        str(folder / "suite.json"),
        *(part for role in world.sides for part in (f"--{role}", str(folder / role))),
    ]


def is_one_line(text: str) -> bool:
    """Whether standard error holds exactly one clear line: printable, ended, and no traceback."""
    return text.endswith("\n") and text.count("\n") == 1 and text[:-1].isprintable() and len(text) > 10
