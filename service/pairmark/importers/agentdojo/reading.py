"""Finding a text inside tool output that a serialiser has rewritten: escapes, doubled quotes, folded and re-wrapped lines.

Tool output is untrusted, so no YAML or JSON parser runs over it: one regular expression without backtracking undoes the
escapes of YAML, JSON and Python literals, and white space is folded on both sides. One form that matches is enough.
Measured need: of 432 deliveries in scripted AgentDojo banking runs, plain comparison finds 156, folding 288, undoing doubled
quotes as well all; of 205 in slack runs, plain comparison finds 151, folding all. Sources: YAML 1.2.2 section 5.7, RFC 8259 section 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
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


def _are_hexadecimal(text: str, digits: int) -> bool:
    return len(text) == digits and _HEXADECIMAL.issuperset(text)


def unescape(text: str) -> str:
    """`text` with the backslash escapes of YAML, JSON and Python literals undone, once."""
    if "\\" not in text:
        return text
    first, *rest = text.split("\\")
    out, escaping = [first], True
    for part in rest:
        if not escaping:  # what follows an escaped backslash
            out.append(part)
            escaping = True
        elif not part:
            out.append("\\")
            escaping = False
        elif (plain := _ONE.get(part[0])) is not None:
            out += (plain, part[1:])
        elif part[0] == "\n":
            out.append(part[1:].lstrip(" \t"))
        elif (digits := _DIGITS.get(part[0])) is not None and _are_hexadecimal(part[1 : 1 + digits], digits):
            code = int(part[1 : 1 + digits], 16)
            if digits == 8 or 0xD800 <= code < 0xDC00:  # perhaps beyond Unicode, or half of a pair
                return _ESCAPE.sub(_unescaped, text)
            out += (chr(code), part[1 + digits :])
        elif part[0] == "\r":
            return _ESCAPE.sub(_unescaped, text)
        else:
            out.append(part)
    return "".join(out)


def fold(text: str) -> str:
    """`text` with every run of white space as one space, none at the ends."""
    return " ".join(text.split())


def readings(text: str) -> Iterator[str]:
    """The folded readings of `text`, the likeliest first, made as they are asked for: unescaped once where there are escapes, as
    it is, with doubled single quotes undone (YAML), unescaped twice (a literal inside a literal). Empty ones and repetitions
    are left out.
    """
    plain = [text, text.replace("''", "'")] if "''" in text else [text]
    seen = {""}
    if "\\" not in text:
        for reading in plain:
            if (folded := fold(reading)) not in seen:
                seen.add(folded)
                yield folded
        return
    once = []
    for reading in plain:
        once.append(unescape(reading))
        if (folded := fold(once[-1])) not in seen:
            seen.add(folded)
            yield folded
    for reading in (*plain, *map(unescape, once)):
        if (folded := fold(reading)) not in seen:
            seen.add(folded)
            yield folded


def forms(text: str) -> frozenset[str]:
    """All readings of `text`."""
    return frozenset(readings(text))


def shows(output: Iterable[str], payload: Iterable[str]) -> bool:
    """Whether any form of a payload is part of any form of an output."""
    sought = tuple(payload)
    for text in output:
        for form in sought:
            if form in text:
                return True
    return False


def without(text: str, payload: Iterable[str]) -> str:
    """A reading of an output with all forms of the payload, longest first, cut out: what it says beside the payload."""
    for form in payload:
        text = text.replace(form, " ")
    return text
