"""YAML of mapping files, read as JSON with less punctuation: no aliases, anchors, tags or repeated keys, and bounded.

Source: YAML 1.2.2, of which this takes the part that JSON has. A plain word is null, a boolean or a number only where JSON writes it
so (`null`, `true`, `1`, `0.5`); every other word is text: `yes`, `no`, `on`, `True`, `012`, `1_000`, `.nan`. Keys are always text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.domain.strict_json import MAX_SAFE_INTEGER, escape_pointer

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_NODES = 10_000

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,15})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass
class ReadYaml:
    """The value, and the line of every key and item by its JSON pointer."""

    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)

    def line_of(self, pointer: str) -> int | None:
        """The line of the nearest place at or above `pointer`."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer)


def read_yaml(data: bytes, *, file: str | None = None) -> ReadYaml:
    """The one value in a YAML (or JSON) file.

    Raises:
        Malformed: too large, not UTF-8, not YAML, or more of YAML than is taken here; with the line.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(data) > MAX_BYTES:
        raise Malformed(
            "too-large", f"expected at most {MAX_BYTES} bytes of YAML, found more", file, remedy="keep to what a mapping holds"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Malformed(
            "not-utf8", f"expected UTF-8, found another byte at offset {problem.start}", file, remedy="save the file as UTF-8"
        ) from None
    try:
        return _Reader(YAML(typ="safe", pure=True).parse(text), file).read()
    except Malformed:
        raise
    except (YAMLError, ValueError, RecursionError, AttributeError, IndexError) as problem:
        mark = getattr(problem, "problem_mark", None)
        said = getattr(problem, "problem", None) or str(problem) or type(problem).__name__
        raise Malformed(
            "not-yaml", f"expected YAML, found: {one_line(str(said), 200)}", file, None if mark is None else mark.line + 1,
            remedy="check the indentation and the quotes there",
        ) from None


class _Reader:
    """Builds the value from the parser's events, so that nothing is expanded or constructed."""

    def __init__(self, events: Iterator[Any], file: str | None) -> None:
        self._events, self._file = events, file
        self._nodes = 0
        self._found = ReadYaml()

    def read(self) -> ReadYaml:
        documents = 0
        for event in self._events:
            kind = type(event).__name__
            if kind in ("StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"):
                continue
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._refusal("one document", "a second one", event)
            else:
                self._found.value = self._value(event, "", 0)
        return self._found

    def _value(self, event: Any, pointer: str, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            raise self._refusal(f"at most {MAX_NODES} values, nested at most {MAX_DEPTH} deep", "more", event)
        self._found.lines.setdefault(pointer, _line(event))
        kind = type(event).__name__
        if kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            raise self._refusal("every value written out", "an anchor or alias", event)
        if getattr(event, "tag", None) not in (None, "!"):
            raise self._refusal("values without tags", f"the tag {shown(str(event.tag), 60)}", event)
        if kind == "ScalarEvent":
            return self._scalar(event)
        if kind == "SequenceStartEvent":
            items: list[Any] = []
            while type(event := next(self._events)).__name__ != "SequenceEndEvent":
                items.append(self._value(event, f"{pointer}/{len(items)}", depth + 1))
            return items
        return self._mapping(pointer, depth)

    def _mapping(self, pointer: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while type(key := next(self._events)).__name__ != "MappingEndEvent":
            if type(key).__name__ != "ScalarEvent" or key.anchor is not None or key.tag not in (None, "!"):
                raise self._refusal("keys that are words", "another kind of key", key)
            name = str(key.value)
            if name in found:
                raise self._refusal("each key once", f"{shown(name)} again", key, "duplicate-key")
            below = f"{pointer}/{escape_pointer(name)}"
            self._found.lines[below] = _line(key)
            found[name] = self._value(next(self._events), below, depth + 1)
        return found

    def _scalar(self, event: Any) -> Any:
        text = str(event.value)
        if event.style is not None:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            if abs(int(text)) > MAX_SAFE_INTEGER:
                raise self._refusal("an integer within ±(2^53 - 1)", shown(text), event)
            return int(text)
        return float(text) if _NUMBER.fullmatch(text) else text

    def _refusal(self, expected: str, found: str, event: Any, code: str = "bad-yaml") -> Malformed:
        return Malformed(
            code, f"expected {expected}, found {found}", self._file, _line(event), remedy="write it as plain YAML (docs/mapping.md)"
        )


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
