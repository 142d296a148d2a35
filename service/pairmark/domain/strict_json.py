"""Strict JSON for documents: UTF-8, no duplicate keys, finite numbers, integers within 2^53 - 1, bounded depth.

The fast path is the standard parser with hooks; line and pointer are worked out only when something is wrong
(`strict_json_locate`). Sources: RFC 8259, RFC 7493 (I-JSON).
"""

from __future__ import annotations

import json
import math
from typing import NoReturn

from pairmark.domain.errors import Malformed, shown

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

MAX_SAFE_INTEGER = 2**53 - 1
MAX_DEPTH = 64
INTEGER_FORM_END = 1e21
"""RFC 8785 writes whole numbers below this without an exponent: 1e16 would come back as an integer that is refused."""


class _Refused(Exception):
    """Raised inside parser hooks, where no position is known; `locate` finds the position afterwards."""

    def __init__(self, code: str, message: str, remedy: str, key: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.remedy, self.key = code, message, remedy, key


def _pairs(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Refused(
                    "duplicate-key", f"expected each key once, found {shown(key)} again", "keep one of the two", key
                )
            seen.add(key)
    return found


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > 16 or abs(int(text)) > MAX_SAFE_INTEGER:
        raise _Refused("number-range", f"expected an integer within ±(2^53 - 1), found {shown(text)}", "send it as text")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Refused("number-range", f"expected a number a double can hold, found {shown(text)}", "send a finite number")
    if is_large_whole(value):
        raise _Refused("number-range", f"expected an integer within ±(2^53 - 1), found {shown(text)}", "send it as text")
    return value


def is_large_whole(value: float) -> bool:
    """Whether RFC 8785 writes this as an integer beyond ±(2^53 - 1)."""
    return MAX_SAFE_INTEGER < abs(value) < INTEGER_FORM_END and value.is_integer()


def _constant(text: str) -> NoReturn:
    raise _Refused("not-finite", f"expected a finite number or null, found {text}", "use null where a value is unknown")


_decoder = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)


def parse(data: bytes, *, file: str | None = None) -> JsonValue:
    """The JSON value in `data`.

    Raises:
        Malformed: not UTF-8, a byte-order mark, not JSON, a duplicate key, NaN or Infinity, a whole number outside
            ±(2^53 - 1), a lone surrogate, or nesting deeper than 64; with file, line and, where it can be told, pointer.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise Malformed(
            "not-utf8", f"expected UTF-8, found byte 0x{data[problem.start]:02x} at offset {problem.start}", file, line,
            remedy="save the file as UTF-8",
        ) from None
    if text.startswith("\ufeff"):
        raise Malformed("byte-order-mark", "expected JSON, found a byte-order mark", file, 1, remedy="save it without BOM")
    try:
        value: JsonValue = _decoder.decode(text)
    except _Refused as refused:
        from pairmark.domain.strict_json_locate import locate_refusal

        line_found, pointer = locate_refusal(text, refused.code, refused.key)
        raise Malformed(refused.code, refused.message, file, line_found, pointer, refused.remedy) from None
    except json.JSONDecodeError as problem:
        raise Malformed(
            "not-json", f"expected JSON, found at column {problem.colno}: {problem.msg}", file, problem.lineno,
            remedy="check the file with a JSON parser",
        ) from None
    except RecursionError:
        from pairmark.domain.strict_json_locate import locate_depth

        raise _too_deep(file, locate_depth(text, MAX_DEPTH)) from None
    try:
        _check_depth_and_text(value)
    except Malformed as problem:
        from pairmark.domain.strict_json_locate import locate

        raise problem.located(file=file, line=locate(text, problem.pointer or "")) from None
    return value


def _too_deep(file: str | None = None, line: int | None = None, pointer: str | None = None) -> Malformed:
    return Malformed("too-deep", f"expected nesting of at most {MAX_DEPTH}", file, line, pointer, "flatten the document")


def _check_depth_and_text(value: JsonValue) -> None:
    stack: list[tuple[JsonValue, str, int]] = [(value, "", 0)]
    while stack:
        item, pointer, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(pointer=pointer)
        if isinstance(item, dict):
            for key, child in item.items():
                _check_text(key, pointer)
                stack.append((child, f"{pointer}/{escape_pointer(key)}", depth + 1))
        elif isinstance(item, list):
            stack.extend((child, f"{pointer}/{index}", depth + 1) for index, child in enumerate(item))
        elif isinstance(item, str):
            _check_text(item, pointer)


def _check_text(text: str, pointer: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Malformed(
            "lone-surrogate", f"expected text, found half of a surrogate pair in {shown(text)}", pointer=pointer,
            remedy="write the whole character",
        ) from None


def escape_pointer(key: str) -> str:
    """One RFC 6901 reference token."""
    return key.replace("~", "~0").replace("/", "~1")
