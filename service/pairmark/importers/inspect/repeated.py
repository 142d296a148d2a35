"""Keys that stand twice in one object: Inspect's reader takes the last, another reader the first, and so neither counts."""

from __future__ import annotations

import json
from typing import Any

from pairmark.domain.errors import shown


class RepeatedKey(ValueError):
    """An object has a key twice; the text names it."""


def check_keys(data: bytes) -> None:
    """Refuse JSON with a key twice in one object. Whether it is JSON at all is for Inspect to say.

    Raises:
        RepeatedKey: naming the key.
    """
    try:
        _decoder.decode(data.decode("utf-8"))
    except RepeatedKey:
        raise
    except (ValueError, RecursionError):
        return


def _once(pairs: list[tuple[str, Any]]) -> None:
    keys = {key for key, _ in pairs}
    if len(keys) == len(pairs):
        return
    names = [key for key, _ in pairs]
    raise RepeatedKey(f"expected each key once, found {shown(next(key for key in names if names.count(key) > 1))} again")


_decoder = json.JSONDecoder(object_pairs_hook=_once, parse_int=len, parse_float=len, strict=False)
