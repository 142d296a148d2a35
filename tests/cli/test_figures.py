"""Numbers for people."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.cli.console import table
from pairmark.cli.figures import figure_lines, percent


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [
        ("8/15", "53.33"),
        ("1499/2700", "55.52"),
        ("0/3", "0.00"),
        ("3/3", "100.00"),
        ("-13/36", "-36.11"),
        ("1/800", "0.12"),
        ("3/800", "0.38"),
        ("-1/800", "-0.12"),
    ],
)
def test_percent(fraction: str, shown: str) -> None:
    assert percent(fraction) == shown


@given(st.fractions(min_value=-1, max_value=1, max_denominator=10**15))
def test_percent_is_the_nearest_hundredth(number: Fraction) -> None:
    assert abs(Fraction(percent(f"{number.numerator}/{number.denominator}")) - 100 * number) <= Fraction(1, 200)


def _metrics(**changed: Any) -> dict[str, Any]:
    number = {
        "value": "0.500000",
        "fraction": "1/2",
        "interval": {"low": "0.100000", "high": "0.900000", "method": "m", "scope": "tasks"},
    }
    names = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")
    return {"weighting": "task", "scope": "these-injections", **dict.fromkeys(names, number), **changed}


def test_the_least_block() -> None:
    lines = list(figure_lines(_metrics()))
    assert lines[0] == "weighting: task, the same in both arms; scope of the intervals: these-injections"
    assert lines[2].split() == ["benign", "utility", "50.00", "1/2", "10.00", "to", "90.00", "m,", "tasks"]
    assert len(lines) == 6


def test_what_is_missing_has_its_reason() -> None:
    undefined = {"value": None, "reason": "no cell with\n a known outcome"}
    without = {"value": "0.500000", "fraction": "1/2", "interval": {"reason": "2 tasks; an interval needs 10"}}
    lines = list(figure_lines(_metrics(attack_success_rate=undefined, utility_drop=without)))
    assert "utility drop                  50.00    1/2  none [1]" in lines
    assert "attack success rate   undefined [2]" in lines
    assert lines[-2:] == ["  [1] 2 tasks; an interval needs 10", "  [2] no cell with\\n a known outcome"]


def test_what_stands_beside_the_numbers() -> None:
    bound = {"low": "0.1", "high": "1", "low_fraction": "1/10", "high_fraction": "1/1"}
    lines = list(
        figure_lines(
            _metrics(
                bounds=dict.fromkeys(
                    ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate"), bound
                ),
                flips={"lost": 10, "gained": 8, "kept": 60, "neither": 22, "unpaired": 0},
                tests={"no_effect": {"method": "exact-blocks", "p_value": "1.20000e-09"}},
                tags=[
                    {
                        "tag": "multi-hop",
                        "carrying": 9,
                        "lacking": 8,
                        "difference": "0.125000",
                        "p_adjusted": "0.0312500",
                    },
                    {"tag": "a", "carrying": 1, "lacking": 16, "difference": None, "reason": "r"},
                ],
                tasks_left_out=2,
            )
        )
    )
    assert "utility under attack with unknown outcomes all against and all for it: 10.00 to 100.00 percent" in lines
    assert "flips against the same epoch's benign outcome: 10 lost, 8 gained, 60 kept, 22 neither, 0 unpaired" in lines
    assert '"the attack changes nothing": p = 1.20000e-09 (exact-blocks)' in lines
    assert "tags: 1 of 2 tested (8 tasks with and 8 without the tag are needed)" in lines
    assert any(line.split() == ["multi-hop", "9", "8", "12.50", "0.0312500"] for line in lines)
    assert lines[-1].endswith("left out of every number: 2")


def test_a_table_keeps_hostile_text_on_its_line() -> None:
    assert table([("a\nb", "1"), ("c", "\x1b[31m")]) == ["a\\nb  1", "c     \\x1b[31m"]
