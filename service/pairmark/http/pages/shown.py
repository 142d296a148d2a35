"""How values look on a page: percent, points, times, digests, names. Numbers are only written another way, never worked out."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from pairmark.stats.exact import decimal_string

FOLDED: Final = 160
"""Characters of a name that are shown at once; the rest is one click away."""

PROSE_FOLDED: Final = 2000
"""The same of a sentence of ours, which may quote names."""

_SPACE: Final = "\N{NO-BREAK SPACE}"
_MINUS: Final = "\N{MINUS SIGN}"
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

SMALL: Final = Decimal("0.0001")
"""P values below this are shown as a power of ten."""


FLAGS: Final = {
    "few-injections": "8 to 13 injections stand for all like them, so the interval rests on few",
    "single-task-group": "a group has one task, whose spread cannot be seen, so the interval may be too narrow",
    "no-headroom": "the undefended baseline took no attacker action, so there was nothing for a defense to prevent",
    "no-measurable-drop": "utility under attack is not below benign utility, and every innocent explanation was excluded",
    "disproved": "it was held at first; a reviewer recorded evidence against what was suspicious",
}
"""What the flags of a report tell a reader."""


def percent(number: str) -> str:
    """A fraction or decimal of 1 in percent, two places, ties to even."""
    return decimal_string(Fraction(number) * 100, 2).replace("-", _MINUS)


def points(number: str) -> str:
    """A difference in percentage points with its sign, two places."""
    shown = decimal_string(Fraction(number) * 100, 2)
    return shown.replace("-", _MINUS) if shown.startswith("-") or not Fraction(shown) else f"+{shown}"


def short_points(number: str) -> str:
    """A share in points without zeros that say nothing."""
    shown = decimal_string(Fraction(number) * 100, 2)
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown).replace("-", _MINUS)


def decimal(number: str, places: int) -> str:
    """A decimal with fewer places, ties to even, thousands apart."""
    exact = Decimal(number).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
    return f"{exact:,f}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", _MINUS)


def probability(text: str) -> str:
    """A p value: as it is given, and below a ten-thousandth as a power of ten with three digits."""
    number = Decimal(text)
    if number == 0 or number >= SMALL:
        return text
    digits, exponent = f"{number:.2e}".split("e")
    return f"{digits} × 10{str(int(exponent)).translate(_SUPERSCRIPT)}".replace(" ", _SPACE)


def whole(number: int) -> str:
    """A count, thousands apart."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", _MINUS)


def words(key: str) -> str:
    """A key in words: `utility_drop` is utility drop."""
    return key.replace("_", " ").replace("-", " ")


def name(text: object, folded: int = FOLDED) -> Markup:
    """Text from outside: isolated from the direction of what stands around it, its invisible characters shown, the rest of a long one folded."""
    given = str(text)
    if len(given) <= folded:
        return Markup("<bdi>{}</bdi>").format(_visible(given))
    return Markup('<details class="long"><summary><bdi>{}…</bdi><span class="less">less</span></summary><bdi>{}</bdi></details>').format(
        _visible(given[:folded]), _visible(given)
    )


def prose(text: object) -> Markup:
    """A sentence of the service, which may quote names from outside; what stands between backticks is code."""
    given = str(text)
    pieces = given.split("`")
    if len(given) > PROSE_FOLDED or len(pieces) % 2 == 0:
        return name(given, PROSE_FOLDED)
    shown = (Markup("<code>{}</code>").format(_visible(piece)) if place % 2 else _visible(piece) for place, piece in enumerate(pieces))
    return Markup("<bdi>{}</bdi>").format(Markup("").join(shown))


def inline(text: object, limit: int = 48) -> str:
    """The same for places that take text only, such as a label in a plot: invisible characters as ?, cut at `limit`."""
    given = "".join("?" if _is_hidden(character) else character for character in str(text)[: limit + 1])
    return given if len(given) <= limit else f"{given[: limit - 1]}…"


def label(text: object, limit: int = 26) -> str:
    """The same with both ends kept, since names of one kind often differ at the end."""
    given = inline(text, 2000)
    if len(given) <= limit:
        return given
    tail = (limit - 1) * 3 // 5
    return f"{given[: limit - 1 - tail]}…{given[-tail:]}"


def _visible(text: str) -> Markup:
    if text.isascii() and text.isprintable():
        return escape(text)
    return Markup("").join(
        Markup('<span class="hidden-character">U+{:04X}</span>').format(ord(character)) if _is_hidden(character) else character
        for character in text
    )


def _is_hidden(character: str) -> bool:
    """Control and format characters (direction marks among them), private and half ones, line separators."""
    return unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp") and character != "\n"


def digest(value: str, label: str = "digest") -> Markup:
    """A digest, shortened, with a button that copies all of it."""
    kind, _, hexadecimal = value.rpartition(":")
    short = f"{kind}:{hexadecimal[:8]}…{hexadecimal[-4:]}" if kind and len(hexadecimal) > 16 else value
    return Markup(
        '<span class="copied"><code title="{value}">{short}</code>'
        '<button type="button" class="copy" data-copy="{value}" aria-label="Copy the {label} {short}" hidden>copy</button></span>'
    ).format(value=value, short=short, label=label)


def identifier(value: str, url: str | None = None) -> Markup:
    """An id of ours, shortened, as a link where it leads somewhere."""
    kind, _, rest = value.rpartition("-")
    short = f"{kind}-{rest[:8]}…" if kind and len(rest) > 16 else inline(value, 60)
    inner = Markup('<code title="{}">{}</code>').format(value, short)
    return inner if url is None else Markup('<a href="{}">{}</a>').format(url, inner)


def when(text: str) -> Markup:
    """A time in UTC to the second; a script puts the local one in its title."""
    moment = datetime.fromisoformat(text.upper()).astimezone(UTC)
    return Markup('<time datetime="{}">{}{}UTC</time>').format(
        moment.strftime("%Y-%m-%dT%H:%M:%SZ"), moment.strftime("%Y-%m-%d %H:%M:%S").replace(" ", _SPACE), _SPACE
    )


def day(text: str) -> str:
    """The day of a time, in UTC."""
    return datetime.fromisoformat(text.upper()).astimezone(UTC).strftime("%Y-%m-%d")


def flag_means(flag: str) -> str:
    """A flag in words; nothing for one that a newer policy raises."""
    return FLAGS.get(flag, "")


def query(base: str, given: Mapping[str, Any] | None = None, **more: Any) -> str:
    """An address with parameters; those that are None or empty are left out, lists are repeated."""
    parts: list[tuple[str, str]] = []
    for key, value in {**(given or {}), **more}.items():
        several = value if isinstance(value, list | tuple) else [value]
        parts += [(key, str(one)) for one in several if one is not None and one != ""]
    return f"{base}?{urlencode(parts)}" if parts else base


def segment(value: str) -> str:
    """A part of a path."""
    return quote(value, safe=":")


def defenses(found: list[dict[str, Any]] | None) -> str | None:
    """Defenses as `name version`; None where they are unrecorded."""
    if found is None:
        return None
    return ", ".join(" ".join(part for part in (one["name"], one["version"]) if part) for one in found) or "no defense"


def models(system: Mapping[str, Any]) -> str | None:
    """The served models, else the one asked for; None where neither is recorded."""
    model = system["model"]
    if model is None:
        return None
    return ", ".join(model["served"] or ()) or model["requested"]
