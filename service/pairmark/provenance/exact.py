"""Reading and writing signed JSON: RFC 8785 bytes without fractions, at the speed of the standard library.

Where no character lies beyond U+FFFF and every number is an integer, compact JSON with sorted keys is RFC 8785 form: sorting by code
point and by UTF-16 unit agree, and the escapes are the same. Anything else goes the long way.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Malformed, shown
from pairmark.domain.strict_json import MAX_DEPTH, MAX_SAFE_INTEGER, JsonValue, parse

_MAX_DIGITS = 17
_BEYOND = bytes(range(0xF0, 0xF8))
"""First bytes, in UTF-8, of characters beyond U+FFFF."""
_encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS or abs(int(text)) > MAX_SAFE_INTEGER:
        raise ValueError(text)
    return int(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


def _refuse_deep(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [each for items in inner for each in items if isinstance(each, dict | list)]
        if not level:
            return
    raise ValueError


_decoder = json.JSONDecoder(parse_int=_integer, parse_float=_refuse, parse_constant=_refuse)


def exact_bytes(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value without fractions; ValueError for text that has no UTF-8 form."""
    data = _encoder.encode(value).encode()
    return data if _is_plain(data) else canonical_bytes(value)


def _is_plain(data: bytes) -> bool:
    return len(data.translate(None, _BEYOND)) == len(data)


def read_exact(data: bytes, what: str, *, file: str | None = None) -> Any:
    """The JSON value of bytes that must be in RFC 8785 form.

    Raises:
        Malformed: not JSON, other bytes than the value's canonical form (so also a repeated key), or a number that is no integer.
    """
    if _is_plain(data):
        try:
            value = _decoder.decode(data.decode())
            same = _encoder.encode(value).encode() == data
            _refuse_deep(value)
        except (ValueError, RecursionError):
            pass  # the long way says what and where
        else:
            if not same:
                raise _not_canonical(what, file)
            return value
    value = parse(data, file=file)
    if canonical_bytes(value) != data:
        raise _not_canonical(what, file)
    refuse_fractions(value, file=file)
    return value


def _not_canonical(what: str, file: str | None) -> Malformed:
    return Malformed(
        "not-canonical", f"expected {what} in RFC 8785 form, found other bytes", file, remedy="fetch it again, do not reformat it"
    )


def refuse_fractions(value: JsonValue, *, file: str | None = None) -> None:
    """Raise Malformed where a number is not an integer: signed numbers are integers or text."""
    stack: list[JsonValue] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, float):
            raise Malformed(
                "fraction", f"expected integers, text and booleans only, found {shown(item)}", file, remedy="do not trust it"
            )
