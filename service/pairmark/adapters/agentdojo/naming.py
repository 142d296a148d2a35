"""The order of ids as people count: `user_task_2` before `user_task_10`."""

from __future__ import annotations

import re
from typing import Any

_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key: runs of digits by value, everything else by code point."""
    return tuple((1, int(part), part) if part.isdigit() else (0, 0, part) for part in _DIGITS.split(name))


def natural_order(item: tuple[str, Any]) -> tuple[tuple[int, int, str], ...]:
    """Sort key of a dictionary's item: its key."""
    return natural_key(item[0])
