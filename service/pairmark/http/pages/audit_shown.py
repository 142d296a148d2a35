"""Changes of the audit log in words: each field that changed, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WHAT = {(False, True): "added", (True, False): "removed", (True, True): "changed", (False, False): "touched"}


def happened(change: Mapping[str, Any]) -> str:
    """Whether a row was added, changed or removed."""
    return WHAT[change["before"] is not None, change["after"] is not None]


def differences(change: Mapping[str, Any]) -> list[tuple[str, str | None, str | None]]:
    """Every field with its value before and after, None where there was or is none; fields that stay empty are left out."""
    before, after = change["before"] or {}, change["after"] or {}
    found = [(field, _value(before.get(field)), _value(after.get(field))) for field in {**before, **after}]
    return [line for line in found if line[1] != line[2]]


def _value(value: Any) -> str | None:
    if value is None or value == "" or value == []:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(_value(each)) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value(each)}" for key, each in value.items())
    return str(value)
