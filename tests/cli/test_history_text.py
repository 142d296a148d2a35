"""History as text fits a terminal, whatever ids and names are like."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pairmark.cli.console import shortened
from pairmark.cli.figures import HEADLINE
from pairmark.cli.history_text import history_lines


def page(name: str, left_out: str | None) -> dict[str, Any]:
    item = {
        "issued_at": "2026-01-01T00:00:00.000000+00:00", "certificate": f"certificate-{'a' * 64}", "left_out": left_out,
        "system": {"model": {"served": [name], "requested": name}, "defenses": [{"name": name}, {"name": name}]}, "attack": {"name": name},
        "metrics": {metric: {"fraction": "1/3"} for metric in HEADLINE},
    }  # fmt: skip
    return {
        "suite": {"digest": None, "labels": []}, "items": [item], "weighting": "mean-over-tasks", "definition": "1",
        "retrieved_at": "2026-01-01T00:00:00+00:00", "left_out": {},
    }  # fmt: skip


@given(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=200), st.sampled_from([None, "revoked"]))
def test_every_line_fits_where_output_is_no_terminal(name: str, left_out: str | None) -> None:
    assert max(map(len, history_lines(page(name, left_out)))) <= 100


def test_why_a_line_does_not_compare_stands_under_it() -> None:
    lines = list(history_lines(page("m", "revoked")))
    assert any(line.strip() == "does not compare: revoked" for line in lines)
    assert not any("does not compare" in line for line in history_lines(page("m", None)))


@given(st.text(max_size=100), st.integers(4, 40))
def test_a_shortened_text_has_at_most_so_many_columns(text: str, columns: int) -> None:
    assert len(shortened(text, columns)) <= columns
    assert shortened("short", 5) == "short"
