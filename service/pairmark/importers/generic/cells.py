"""Values as the readers hand them over: one text column for each source column, from which JSON's kinds can be told.

A string is `s` and the string, any other value `j` and its JSON text, absent and null are null. So columns of mixed kinds stay
columns, and what a value means is worked out once for each distinct value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl

from pairmark.domain.errors import Malformed, shown
from pairmark.importers.mapping import Scalar

MAX_LINE_BYTES = 32 * 2**20
"""Longest line of JSON, and longest row of CSV."""


def tagged_text(column: pl.Series) -> pl.Series:
    """Plain strings, as in CSV."""
    return column.to_frame("v").select(pl.lit("s") + pl.col("v")).to_series().rename(column.name)


def tagged_json(column: pl.Series) -> pl.Series:
    """JSON texts, as in a line of JSON."""
    raw = pl.col("v")
    is_string = raw.str.starts_with('"')
    is_escaped = is_string & raw.str.contains("\\", literal=True)
    frame = column.to_frame("v")
    escaped = frame.filter(is_escaped)["v"].unique()
    plain = (
        pl.when(raw == "null").then(None)
        .when(is_string).then(pl.lit("s") + raw.str.slice(1).str.head(-1))
        .otherwise(pl.lit("j") + raw)
    )  # fmt: skip
    if len(escaped):
        meant = ["s" + json.loads(text) for text in escaped]
        plain = pl.when(is_escaped).then(raw.replace_strict(escaped, meant, default=None, return_dtype=pl.String)).otherwise(plain)
    return frame.select(plain).to_series().rename(column.name)


def scalar_of(text: str | None, column: str) -> Scalar:
    """The value that a tagged text stands for.

    Raises:
        Malformed: an object or a list.
    """
    if text is None:
        return None
    if text[0] == "s":
        return text[1:]
    try:
        value: Any = json.loads(text[1:])
    except ValueError:  # an infinite number of a table
        value = []
    if isinstance(value, dict | list):
        raise Malformed(
            "invalid-type", f"expected text, numbers, true, false or null in column {shown(column)}, found {shown(text[1:], 60)}",
            remedy="name a part of it with a JSON pointer, such as /result/passed",
        )  # fmt: skip
    return value  # type: ignore[no-any-return]  # a scalar


def looked_up(column: pl.Series, meaning: Callable[[Scalar], Any], kind: Any) -> pl.Series:
    """`meaning` of every value, asked once for each distinct one."""
    distinct = column.unique()
    meant = pl.Series("m", [meaning(scalar_of(text, column.name)) for text in distinct], dtype=kind, strict=True)
    # A join, not `replace`: null is a value like any other here.
    keys = pl.DataFrame({"v": distinct, "m": meant})
    return column.to_frame("v").join(keys, on="v", how="left", nulls_equal=True, maintain_order="left")["m"]


def json_text(value: Scalar) -> str:
    """A value as an explanation shows it: JSON, so that `"1"` and `1` are told apart."""
    return json.dumps(value, ensure_ascii=False)
