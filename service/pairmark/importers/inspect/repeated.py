"""Keys that stand twice in one object: Inspect's reader takes the last, another reader the first, and so neither counts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from pairmark.domain.errors import Malformed, shown


def check_keys(data: bytes | bytearray) -> Malformed | None:
    """Why JSON is not to be read for its keys: one stands twice in an object, or nesting is too deep to say. Null where it may be.

    Keys are compared as they are read, so that no escape hides one, and bytes are decoded as Inspect decodes them. Whether they are JSON
    at all is for Inspect to say. No value is kept: memory is that of the text.
    """
    try:
        _decoder.decode(data.decode(json.detect_encoding(data), "surrogatepass"))
    except _RepeatedKey as found:
        return Malformed("duplicate-key", f"expected each key once, found {shown(found.args[0])} again")
    except RecursionError:
        return Malformed("too-deep", "expected nesting in which keys can be compared, found deeper")
    except ValueError:
        pass
    return None


class _RepeatedKey(ValueError):
    """Its argument is the key."""


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        counted = Counter(key for key, _ in pairs)
        raise _RepeatedKey(next(key for key, count in counted.items() if count > 1))


_decoder = json.JSONDecoder(object_pairs_hook=_once, parse_int=len, parse_float=len, strict=False)
