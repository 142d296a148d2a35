"""Where in a JSON text something stands: used only once an error is known, so it may be slow."""

from __future__ import annotations

import contextlib
import json
import re

from pairmark.domain.strict_json import MAX_SAFE_INTEGER, escape_pointer, is_large_whole

_space = re.compile(r"[ \t\r\n]*")
_number = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_decoder = json.JSONDecoder()
_word = re.compile(r"-?[A-Za-z]+")


class _Walk:
    """Walks a JSON text once and notes the offset of every value by pointer, and the first refusal met."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets: dict[str, int] = {}
        self.refusals: list[tuple[str, int, str]] = []

    def value(self, at: int, pointer: str) -> int:
        at = self._skip(at)
        self.offsets.setdefault(pointer, at)
        first = self.text[at]
        if first == "{":
            return self._object(at + 1, pointer)
        if first == "[":
            return self._array(at + 1, pointer)
        if first == '"':
            return self._string(at)[1]
        matched = _word.match(self.text, at)
        if matched is not None:
            if matched.group() not in ("true", "false", "null"):
                self.refusals.append(("not-finite", at, pointer))
            return matched.end()
        number = _number.match(self.text, at)
        if number is None:
            raise ValueError(at)
        word = number.group()
        if re.fullmatch(r"-?\d+", word):
            if len(word) > 17 or abs(int(word)) > MAX_SAFE_INTEGER:
                self.refusals.append(("number-range", at, pointer))
        elif float(word) in (float("inf"), float("-inf")) or is_large_whole(float(word)):
            self.refusals.append(("number-range", at, pointer))
        return number.end()

    def _object(self, at: int, pointer: str) -> int:
        keys: set[str] = set()
        at = self._skip(at)
        while self.text[at] != "}":
            start = at
            key, at = self._string(at)
            below = f"{pointer}/{escape_pointer(key)}"
            if key in keys:
                self.refusals.append(("duplicate-key", start, below))
            keys.add(key)
            at = self._skip(at)
            at = self._skip(self.value(at + 1, below))
            if self.text[at] == ",":
                at = self._skip(at + 1)
        return at + 1

    def _array(self, at: int, pointer: str) -> int:
        index = 0
        at = self._skip(at)
        while self.text[at] != "]":
            at = self._skip(self.value(at, f"{pointer}/{index}"))
            index += 1
            if self.text[at] == ",":
                at = self._skip(at + 1)
        return at + 1

    def _string(self, at: int) -> tuple[str, int]:
        text, end = _decoder.raw_decode(self.text, at)
        if not isinstance(text, str):
            raise ValueError(at)
        return text, end

    def _skip(self, at: int) -> int:
        matched = _space.match(self.text, at)
        return at if matched is None else matched.end()


def _walked(text: str) -> _Walk:
    walk = _Walk(text)
    # What was found up to the damage still tells the place.
    with contextlib.suppress(ValueError, IndexError, RecursionError):
        walk.value(0, "")
    return walk


def line_of(text: str, offset: int) -> int:
    """1-based line of a character offset."""
    return text.count("\n", 0, offset) + 1


def locate(text: str, pointer: str) -> int | None:
    """Line of the value at `pointer`, or of its nearest parent that is there."""
    offsets = _walked(text).offsets
    while pointer not in offsets:
        if not pointer:
            return None
        pointer = pointer.rpartition("/")[0]
    return line_of(text, offsets[pointer])


_string_or_bracket = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def locate_depth(text: str, limit: int) -> int | None:
    """Line of the first bracket that opens more than `limit` levels."""
    depth = 0
    for token in _string_or_bracket.finditer(text):
        first = token.group()[0]
        depth += (first in "[{") - (first in "]}")
        if depth > limit:
            return line_of(text, token.start())
    return None


def locate_refusal(text: str, code: str, key: str | None) -> tuple[int | None, str | None]:
    """Line and pointer of the first thing in `text` that is refused with `code` (and, for a duplicate, under `key`)."""
    for found, offset, pointer in _walked(text).refusals:
        if found == code and (key is None or pointer.rpartition("/")[2] == escape_pointer(key)):
            return line_of(text, offset), pointer
    return None, None
