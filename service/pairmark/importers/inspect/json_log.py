"""Where the samples of a `.json` log lie, found without parsing it: Inspect is then given one small part at a time.

Only strings and brackets are looked at, in slices: memory does not grow with the log, nor with the length of a line. Whether a
part is well-formed is for Inspect to say when it parses it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pairmark.domain.errors import Malformed
from pairmark.importers.inspect.limits import LIMITS, LogLimits, too_large

_CHUNK = 2**20
_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_BETWEEN = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_TO_BRACKET = re.compile(_BETWEEN.pattern + rb"[{}\[\]]", re.DOTALL)
"""Everything up to the next bracket that is in no string; possessive, so that nothing is tried twice."""
_BRACE, _BRACKET = b"{["
_KEY_CHARACTERS = 64
_MAX_DEPTH = 1000


@dataclass(frozen=True)
class Layout:
    """The log without its samples, as JSON, and where each sample lies (first byte, bytes)."""

    header: bytes
    samples: list[tuple[int, int]]


@dataclass
class _Scanner:
    """What is known so far. `opened`: brackets that are open; `samples_at`: their number inside the list of samples."""

    limits: LogLimits
    file: str
    opened: bytearray = field(default_factory=bytearray)
    header: bytearray = field(default_factory=bytearray)
    samples: list[tuple[int, int]] = field(default_factory=list)
    last_text: bytearray = field(default_factory=bytearray)
    string_at: int | None = None
    is_escaped: bool = False
    in_samples: bool = False
    had_samples: bool = False
    sample_from: int | None = None
    ended: bool = False
    keep_from: int = 0

    def take(self, chunk: bytes, base: int) -> None:
        """The next slice of the file, which starts at byte `base`."""
        place = 0
        self.keep_from = 0
        while place < len(chunk):
            if self.string_at is not None:
                place = self._inside(chunk, place)
                continue
            if len(self.opened) > 1:  # below the top only brackets count
                place = self._through(chunk, place, base)
                if len(self.opened) == 1:
                    continue
            found = _OUTSIDE.search(chunk, place)
            if found is None:
                break
            place = found.end()
            self._mark(chunk, found.start(), base)
        if not self.in_samples:
            self._keep(chunk[self.keep_from :])

    def _through(self, chunk: bytes, place: int, base: int) -> int:
        """From bracket to bracket, until the top is reached again or the slice ends within a string; the place behind the last."""
        opened = self.opened
        to_bracket = _TO_BRACKET.match  # not a search, which would try again at every byte of a string that does not end here
        while (found := to_bracket(chunk, place)) is not None:
            place = found.end()
            mark = chunk[place - 1 : place]
            if mark in b"{[" and 3 <= len(opened) < _MAX_DEPTH:
                opened += mark
            elif mark in b"}]" and len(opened) > 3 and opened[-1] == (_BRACE if mark == b"}" else _BRACKET):
                del opened[-1]
            else:
                self._mark(chunk, place - 1, base)
                if len(opened) == 1:
                    return place
        between = _BETWEEN.match(chunk, place)
        return place if between is None else between.end()

    def _inside(self, chunk: bytes, place: int) -> int:
        if self.is_escaped:
            self.is_escaped = False
            return place + 1
        found = _INSIDE.match(chunk, place)
        end = place if found is None else found.end()
        mark = chunk[end : end + 1]
        if len(self.opened) == 1 and len(self.last_text) < _KEY_CHARACTERS:
            # with its backslashes: what an escape stands for is no matter, since Inspect writes this key without
            self.last_text += chunk[place : min(end + (mark == b"\\"), place + _KEY_CHARACTERS)]
        if mark == b"\\":
            self.is_escaped = True
        elif mark == b'"':
            self.string_at = None
        return end + len(mark)

    def _mark(self, chunk: bytes, place: int, base: int) -> None:
        mark = chunk[place : place + 1]
        if mark == b'"':
            self.string_at = base + place
            if len(self.opened) == 1:
                self.last_text.clear()
        elif mark in b"{[":
            self._open(mark, chunk, place, base)
        else:
            self._close(mark, place, base)

    def _open(self, mark: bytes, chunk: bytes, place: int, base: int) -> None:
        if self.ended or (not self.opened and mark != b"{"):
            raise self._broken("expected one JSON object", base + place)
        if len(self.opened) >= _MAX_DEPTH:
            raise self._broken(f"expected nesting of at most {_MAX_DEPTH}", base + place)
        self.opened += mark
        if len(self.opened) == 2 and mark == b"[" and bytes(self.last_text) == b"samples":
            if self.had_samples:
                raise self._broken("expected `samples` once, found it again", base + place)
            self.had_samples = self.in_samples = True
            self._keep(chunk[self.keep_from : place + 1])
        elif self.in_samples and len(self.opened) == 3:
            self.sample_from = base + place

    def _close(self, mark: bytes, place: int, base: int) -> None:
        if not self.opened or self.opened[-1] != (_BRACE if mark == b"}" else _BRACKET):
            raise self._broken("expected brackets that match", base + place)
        del self.opened[-1]
        if self.in_samples and len(self.opened) == 2 and self.sample_from is not None:
            self.samples.append((self.sample_from, base + place + 1 - self.sample_from))
            self.sample_from = None
            if len(self.samples) > self.limits.members:
                raise too_large("members", self.limits.members, self.file, "samples")
        elif self.in_samples and len(self.opened) == 1:
            self.in_samples = False
            self.keep_from = place
        elif not self.opened:
            self.ended = True

    def _keep(self, part: bytes) -> None:
        self.header += part
        if len(self.header) > self.limits.header:
            raise too_large("header", self.limits.header, self.file)

    def _broken(self, expected: str, offset: int) -> Malformed:
        return Malformed(
            "not-json", f"{expected}, found something else at byte {offset}", self.file, remedy="take the log as Inspect wrote it"
        )


def lay_out(path: Path, limits: LogLimits = LIMITS) -> Layout:
    """The parts of the log at `path`.

    Raises:
        Malformed: cut short, brackets that do not match, or more than a limit. A single sample beyond its limit is no reason: it
            is refused when it is read.
    """
    scanner = _Scanner(limits, str(path))
    base = 0
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                scanner.take(chunk, base)
                base += len(chunk)
                if base > limits.log:
                    raise too_large("log", limits.log, str(path))
    except OSError as problem:
        raise Malformed("unreadable", f"cannot be read: {problem.strerror}", str(path)) from None
    if not scanner.ended:
        raise Malformed(
            "truncated",
            f"expected a whole JSON object, found its end missing after {base} bytes",
            str(path),
            remedy="transfer the file again",
        )
    return Layout(bytes(scanner.header), scanner.samples)


def part_of(stream: IO[bytes], place: tuple[int, int]) -> bytes:
    """The bytes of one sample."""
    stream.seek(place[0])
    return stream.read(place[1])
