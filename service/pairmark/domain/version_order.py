"""Versions in the order people mean: 1.10 is newer than 1.9, and a release newer than its release candidates."""

from __future__ import annotations

import re

_part = re.compile(r"[0-9]+|[A-Za-z]+")
_PRE_RELEASE, _END, _NUMBER = 0, 1, 2


def version_key(version: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """A sort key. Numbers compare by value, words by code point and before the end, whatever separates them is ignored.

    A leading `v` does not count. Versions that differ only in what is ignored are ordered by their text.
    """
    parts: list[tuple[int, int, str]] = []
    for found in _part.findall(version.removeprefix("v").removeprefix("V")):
        if found.isdigit():
            number = found.lstrip("0") or "0"
            parts.append((_NUMBER, len(number), number))  # by length, then by digits: by value, at any length
        else:
            parts.append((_PRE_RELEASE, 0, found.lower()))
    return (*parts, (_END, 0, "")), version
