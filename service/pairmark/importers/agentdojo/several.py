"""Many files, read by several processes: this one, and a helper for each further core.

What is read does not depend on it: parts are the same, each is read the same way, and they are put together in their order. A
helper that does not start, is of another installation, or ends before its time, is done without: its part is read here. A helper
is a bare interpreter that is told what to import, so it runs nothing of the program that it helps. Parts and what they show go
over its pipes as lines of JSON, a part at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, Self

from pairmark.importers.agentdojo.facts import Facts, Prompt
from pairmark.importers.agentdojo.folder import Shelf
from pairmark.importers.agentdojo.part import Part, read_part

FILES_WORTH_A_HELPER = 2000
"""Below, reading is over before a helper has started."""

MOST_HELPERS = 3
FILES_OF_A_PART = 400

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.stdin.buffer.readline());"
    " from pairmark.importers.agentdojo.several import help_out; help_out(sys.stdin.buffer, sys.stdout.buffer)"
)

Keep = Callable[[int, Part], None]


def parts_of(shelves: Sequence[Shelf]) -> list[list[Shelf]]:
    """The shelves in their order, in parts of some hundred files."""
    parts: list[list[Shelf]] = []
    room = 0
    for shelf in shelves:
        if room <= 0:
            parts.append([])
            room = FILES_OF_A_PART
        parts[-1].append(shelf)
        room -= len(shelf.names)
    return parts


class Helpers:
    """Helpers from when they are called until they are left; without a call, or where none can be started, this process alone."""

    def __init__(self) -> None:
        self._helpers: list[_Helper] = []
        self._are_called = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for helper in self._helpers:
            helper.stop()

    def call(self, files: int) -> None:
        """Start a helper for each further core, once, where so many files are worth it: it is ready by the time all are found."""
        if self._are_called or files < FILES_WORTH_A_HELPER:
            return
        self._are_called = True
        if "python" in Path(sys.executable or "").name.lower():
            with suppress(OSError):
                while len(self._helpers) < min(_cores() - 1, MOST_HELPERS):
                    self._helpers.append(_Helper())

    def read(self, parts: Sequence[Sequence[Shelf]], *, attacked: bool, keep: Keep) -> None:
        """Read each part once and hand it to `keep` with its number, in any order. Once only."""
        todo = deque(range(len(parts)))
        for helper in self._helpers if len(parts) > 1 else ():
            helper.begin(parts, attacked, todo, keep)
        while todo:
            while (number := _next(todo)) is not None:
                keep(number, read_part(parts[number], attacked=attacked))
            for helper in self._helpers:
                helper.finish()  # one that failed has put its part back


def help_out(asked: IO[bytes], answered: IO[bytes]) -> None:
    """What a helper does: say who it is, then read the part that each line asks for, until there are no more lines."""
    for answer in _answers(asked):
        answered.write(answer + b"\n")
        answered.flush()


def _answers(asked: IO[bytes]) -> Iterator[bytes]:
    yield json.dumps(_identity()).encode()
    for line in asked:
        attacked, shelves = json.loads(line)
        part = read_part([Shelf(*shelf) for shelf in shelves], attacked=attacked)
        yield json.dumps([part.columns, part.unreadable, part.facts]).encode()


def _identity() -> list[str]:
    """The code, and how it understands the names of files."""
    return [__file__, sys.version, sys.getfilesystemencoding()]


def _part_from(line: bytes) -> Part:
    columns, unreadable, facts = json.loads(line)
    stated = [
        (Facts(version, package, None if prompt is None else Prompt(*prompt), silent, settings, pipeline), count, first)
        for (version, package, prompt, silent, settings, pipeline), count, first in facts
    ]
    return Part(columns, [(row, reason) for row, reason in unreadable], stated)


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _next(todo: deque[int]) -> int | None:
    try:
        return todo.popleft()
    except IndexError:
        return None


class _Helper:
    """A process that reads parts, and a thread that hands them to it."""

    def __init__(self) -> None:
        self._is_ready = False
        self._thread: Thread | None = None
        options = ["-I", "-X", "utf8"] if sys.flags.utf8_mode else ["-I"]
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and nothing that came from outside
            [sys.executable, *options, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        with suppress(OSError):  # one that is gone already is noticed when it is to say who it is
            self._write(json.dumps(sys.path).encode())

    def begin(self, parts: Sequence[Sequence[Shelf]], attacked: bool, todo: deque[int], keep: Keep) -> None:
        self._parts, self._attacked, self._todo, self._keep = parts, attacked, todo, keep
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for what it reads; one that has not started by now is let go."""
        if not self._is_ready:
            self._process.kill()
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        self._process.kill()
        if self._thread is not None:
            self._thread.join()
        self._process.communicate()

    def _run(self) -> None:
        answered = self._process.stdout
        assert answered is not None
        unkept: list[int] = []
        try:
            if json.loads(answered.readline()) != _identity():
                return
            self._is_ready = True
            self._ask(unkept)
            while unkept:
                line = answered.readline()
                if not line.endswith(b"\n"):
                    return
                self._ask(unkept)  # it reads on while this is kept
                self._keep(unkept[0], _part_from(line))
                del unkept[0]
        except (OSError, ValueError):  # a broken pipe, or no JSON
            return
        finally:
            self._todo.extend(unkept)

    def _ask(self, unkept: list[int]) -> None:
        """Hand it the next part, if there is one, and note its number."""
        number = _next(self._todo)
        if number is not None:
            unkept.append(number)
            self._write(json.dumps([self._attacked, self._parts[number]]).encode())

    def _write(self, line: bytes) -> None:
        asked = self._process.stdin
        assert asked is not None
        asked.write(line + b"\n")
        asked.flush()
