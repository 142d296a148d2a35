"""A page of history as a LaTeX table (booktabs), with its qualifiers in the caption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pairmark.adapters.tables.history import RATES, defenses_of, named

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
        '"': "''",
    }
)  # fmt: skip
_HEADS = ("benign utility", "utility under attack", "drop", "attack success")


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is; control characters become spaces."""
    return "".join(character if character.isprintable() else " " for character in text).translate(_ESCAPES)


def history_table(page: Mapping[str, Any]) -> str:
    """A `table` environment, rates in percent with their intervals. Rows that do not compare carry a dagger."""
    items = page["items"]
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_caption(page)}}}",
        r"\begin{tabular}{lllrrrr}",
        r"\toprule",
        " & ".join(("model", "defenses", "attack", *_HEADS)) + r" \\",
        r"\midrule",
        *(_row(item) for item in items),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(item: Mapping[str, Any]) -> str:
    model = item["system"]["model"]
    name = ", ".join(model["served"]) or model["requested"] or item.get("name") or "not recorded"
    mark = "" if item["left_out"] is None else r"\textsuperscript{\dag}"
    defenses = defenses_of(item)
    attack = "none" if item["attack"] is None else item["attack"]["name"]
    cells = [escaped(name) + mark, escaped("not recorded" if defenses is None else defenses), escaped(attack)]
    return " & ".join([*cells, *(_rate(item["metrics"].get(rate)) for rate in RATES)]) + r" \\"


def _rate(number: Mapping[str, Any] | None) -> str:
    if number is None or number.get("value") is None:
        return "--"
    interval = number["interval"]
    shown = _percent(number["value"])
    return shown if "low" not in interval else f"{shown} [{_percent(interval['low'])}, {_percent(interval['high'])}]"


def _percent(decimal: str) -> str:
    """A six-place decimal as percent with two places, cut exactly from its digits, ties to even."""
    from fractions import Fraction

    from pairmark.stats.exact import decimal_string

    shown = decimal_string(Fraction(decimal) * 100, 2)
    return f"${shown}$" if shown.startswith("-") else shown


def _caption(page: Mapping[str, Any]) -> str:
    items = page["items"]
    labels = ", ".join(dict.fromkeys(f"{one['name']} {one['version']}" for one in page["suite"]["labels"]))
    suite = page["suite"]["digest"]
    parts = [
        f"Suite {escaped(labels)} ({_digest(suite)})" if suite else "Suite not registered",
        f"weighting: {escaped(page['weighting'] or 'not known')}",
        f"policy: {_several(_policies(items))}",
        f"harness: {_several(named(item['harness']) for item in items)}",
        _intervals(items),
        f"definition: {escaped(page['definition'])}",
        f"retrieved {escaped(page['retrieved_at'])}",
    ]
    left_out = ", ".join(f"{count} {escaped(reason)}" for reason, count in page["left_out"].items())
    text = "; ".join(parts) + ". Percent."
    if left_out:
        text += f" Left out: {left_out}."
    if any(item["left_out"] is not None for item in items):
        text += r" \dag{} does not compare with the others."
    if page["next"] is not None:
        text += " The first of several pages."
    return text


def _policies(items: Iterable[Mapping[str, Any]]) -> Iterable[str | None]:
    for item in items:
        policy = item.get("policy")
        yield None if policy is None else f"{policy['name']}/{policy['version']} ({policy['digest'][:19]}...)"


def _methods(items: Iterable[Mapping[str, Any]]) -> Iterable[str | None]:
    for item in items:
        for rate in RATES:
            yield ((item["metrics"].get(rate) or {}).get("interval") or {}).get("method")


def _intervals(items: Iterable[Mapping[str, Any]]) -> str:
    methods = list(_methods(items))
    return f"intervals: 95\\,\\%, {_several(methods)}" if any(methods) else "no intervals"


def _several(found: Iterable[str | None]) -> str:
    return escaped(", ".join(sorted({text for text in found if text is not None})) or "not recorded")


def _digest(digest: str) -> str:
    return rf"\texttt{{{escaped(digest)}}}"
