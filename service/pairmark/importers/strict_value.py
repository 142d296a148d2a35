"""JSON as harnesses write it, read strictly but without the bounds of our own documents: any integer, halves of surrogates."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from pairmark.domain.errors import shown

MAX_INTEGER_DIGITS = 400
MAX_DEPTH = 64


class NotStrict(Exception):
    """The text is no such JSON; says what was expected and what was found."""


def strict_value(data: bytes) -> Any:
    """The value in `data`.

    Raises:
        NotStrict: not UTF-8, not JSON, a key twice, a number that is not finite or has too many digits, or nesting deeper than 64.
    """
    try:
        value = _decoder.decode(data.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise NotStrict(f"expected UTF-8, found another byte at offset {problem.start}") from None
    except json.JSONDecodeError as problem:
        raise NotStrict(f"expected JSON, found at line {problem.lineno}: {problem.msg}") from None
    except RecursionError:
        raise NotStrict(f"expected nesting of at most {MAX_DEPTH}") from None
    _check_depth(value)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrict("expected each key once, found one again")
    return found


def _integer(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS:
        raise NotStrict(f"expected integers of at most {MAX_INTEGER_DIGITS} digits, found {len(text)}")
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotStrict(f"expected finite numbers, found {shown(text)}")
    return number


def _constant(text: str) -> NoReturn:
    raise NotStrict(f"expected finite numbers, found {text}")


_decoder = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            raise NotStrict(f"expected nesting of at most {MAX_DEPTH}")
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        depth += 1
