"""Finding a text inside tool output that a serialiser has rewritten: escapes, doubled quotes, folded and re-wrapped lines.

Tool output is untrusted, so no YAML or JSON parser runs over it: one regular expression without backtracking undoes the
escapes of YAML, JSON and Python literals, and white space is folded on both sides. One form that matches is enough.
Measured need: of 432 deliveries in scripted AgentDojo banking runs, plain comparison finds 156, folding 288, undoing doubled
quotes as well all; of 205 in slack runs, plain comparison finds 151, folding all. Sources: YAML 1.2.2 section 5.7, RFC 8259 section 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ESCAPE = re.compile(
    r"\\(?:"
    r"(?P<fold>\r?\n[ \t]*)"
    r"|u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8}))"
    r"|(?P<one>.)"
    r")",
    re.DOTALL,
)
_ONE = {
    "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b", "0": "\0",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
MAX_CODE_POINT = 0x10FFFF


def _unescaped(match: re.Match[str]) -> str:
    if match["fold"] is not None:
        return ""
    if match["high"] is not None:
        return chr(0x10000 + ((int(match["high"], 16) - 0xD800) << 10) + (int(match["low"], 16) - 0xDC00))
    digits = match["x"] or match["u"] or match["U"]
    if digits is not None:
        code = int(digits, 16)
        return chr(code) if code <= MAX_CODE_POINT else match[0]
    return _ONE.get(match["one"], match["one"])


def unescape(text: str) -> str:
    """`text` with the backslash escapes of YAML, JSON and Python literals undone, once."""
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def fold(text: str) -> str:
    """`text` with every run of white space as one space, none at the ends."""
    return " ".join(text.split())


def forms(text: str) -> frozenset[str]:
    """The folded readings of `text`: as it is, with doubled single quotes undone (YAML), unescaped once, and twice
    (a literal inside a literal). An empty reading is left out.
    """
    readings = {text}
    if "''" in text:
        readings.add(text.replace("''", "'"))
    if "\\" in text:
        once = {unescape(reading) for reading in readings}
        readings |= once | {unescape(reading) for reading in once}
    return frozenset(folded for folded in map(fold, readings) if folded)


def shows(output: Iterable[str], payload: Iterable[str]) -> bool:
    """Whether any form of a payload is part of any form of an output."""
    sought = tuple(payload)
    return any(form in text for text in output for form in sought)


def without(output: Iterable[str], payload: Iterable[str]) -> list[str]:
    """The forms of an output, each with all forms of the payload cut out: what it says beside the payload."""
    sought = sorted(payload, key=len, reverse=True)
    kept = []
    for text in output:
        for form in sought:
            text = text.replace(form, " ")
        kept.append(text)
    return kept
