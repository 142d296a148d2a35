r"""What a record's payloads are looked for by. Most tool output holds none of it, and a look for one word says so.

A payload is found in the readings of a text that `reading.forms` makes. An unbroken run of ASCII letters and digits of the payload
stands unbroken in the raw text too, unless an escape makes or joins such characters: `\x41`, `\q`, a backslash before a line
break, or three backslashes in a row, which may come to any of these. So a text without the run and without such an escape has the
payload in none of its readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from pairmark.importers.agentdojo.reading import forms, unescape

_LITERALS = (
    re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.ASCII),  # e-mail address
    re.compile(r"(?:https?://|www\.)[^\s'\"<>()\[\]{}|\\^`,;]{3,512}", re.ASCII | re.IGNORECASE),  # link
    re.compile(r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[0-9A-Z]{4}){2,7}(?:[ -]?[0-9A-Z]{1,4})?\b", re.ASCII),  # IBAN
    re.compile(r"\b0x[0-9a-fA-F]{40}\b|\bbc1[02-9ac-hj-np-z]{11,71}\b", re.ASCII),  # wallet
    re.compile(r"(?<![\w.,/-])[0-9](?:[ -]?[0-9]){7,33}(?![\w/-]|[.,][0-9])", re.ASCII),  # account or card number
)
MAX_LITERALS = 256
"""A payload with more literals is not searched for actions: real ones hold a handful, and the search is for each of them."""

_DATE = re.compile(r"[12][0-9]{3}-[01][0-9]-[0-3][0-9](?![0-9])")
_CLOSING = ".!?:;,'\""
_RUN = re.compile(r"[A-Za-z0-9]+")
_MAKES_CHARACTERS = re.compile(r"\\(?:[^\W_nrtbfvae0NLP]|[\r\n]|\\\\)", re.ASCII)
_LOWER = bytes(range(256)).lower()
_SPACES_AND_HYPHENS = b"\t\n\v\f\r\x1c\x1d\x1e\x1f -"
_REMEMBERED_CHARACTERS = 16_384


def squeezed(text: str) -> str:
    """Literals are compared without case, white space and hyphens: `US13 3000 …` is `us133000…`."""
    if text.isascii():  # in one pass over the bytes
        return text.encode("ascii").translate(_LOWER, _SPACES_AND_HYPHENS).decode("ascii")
    return "".join(text.split()).replace("-", "").casefold()


def literals(text: str) -> frozenset[str]:
    """Addresses, links, account numbers and wallets in `text`, squeezed; links without their scheme and closing marks."""
    found: set[str] = set()
    for pattern in _LITERALS:
        for match in pattern.findall(text):
            if _DATE.match(match) is None:
                found.add(re.sub(r"^https?://", "", squeezed(match.rstrip(_CLOSING))).rstrip("/"))
    return frozenset(literal for literal in found if len(literal) >= 6)


class Sought(NamedTuple):
    """`payloads`: their forms, longest first. `wanted`: literals in them. `runs`: of each form its longest run; null where one has none.
    `words`: of the longest form.
    """

    payloads: tuple[str, ...]
    wanted: frozenset[str]
    runs: tuple[str, ...] | None
    words: list[str]

    def may_stand_in(self, text: str) -> bool:
        """False only where no reading of `text` holds a payload."""
        if self.runs is None:
            return True
        for run in self.runs:
            if run in text:
                return True
        return "\\" in text and _MAKES_CHARACTERS.search(text) is not None

    def rest_of(self, text: str) -> str | None:
        """What the likeliest reading of `text` says beside the payload, white space aside; null where only the readings can say.

        The longest form is sought word by word where its first word stands first, and cut out. The rest holds no payload when it
        holds no run of one; a joint that the cut makes is white space, and so is no run.
        """
        if self.runs is None:
            return None
        words, form = self.words, self.payloads[0]
        plain = unescape(text)
        start = plain.find(words[0])
        if start < 0:
            return None
        end = start + 2 * len(form) + 64
        found = plain[start:end].split(None, len(words))
        last = len(words) - 1
        if len(found) <= last or found[:last] != words[:last] or not found[last].startswith(words[last]):
            return None
        rest = " ".join([plain[:start], found[last][len(words[last]) :], *found[last + 1 :]]) + plain[end:]
        for run in self.runs:
            if run in rest:
                return None
        return rest


def sought_in(payloads: Iterable[str]) -> Sought:
    """What to look for; remembered, since the cells of an injection share it."""
    texts = tuple(payloads)
    return _remembered(texts) if sum(map(len, texts)) <= _REMEMBERED_CHARACTERS else _sought(texts)


def _sought(texts: tuple[str, ...]) -> Sought:
    payloads = sorted({form for text in texts for form in forms(text)}, key=lambda form: (-len(form), form))
    wanted = frozenset(literal for payload in payloads for literal in literals(payload))
    longest = {max(_RUN.findall(payload), key=len, default="") for payload in payloads}
    kept = frozenset() if len(wanted) > MAX_LITERALS else wanted
    return Sought(tuple(payloads), kept, None if "" in longest else tuple(sorted(longest)), payloads[0].split() if payloads else [])


@lru_cache(maxsize=512)
def _remembered(texts: tuple[str, ...]) -> Sought:
    return _sought(texts)
