"""Where things stand on the drawings: at the edges, in windows, for trees of every shape."""

from __future__ import annotations

import base64
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.http.pages.plots.heat_map import COLUMNS, ROWS, STATES, heat_map, state_of
from pairmark.http.pages.plots.intervals import MARGIN, WIDTH, difference_scale, interval_bar
from pairmark.http.pages.plots.proof_tree import proof_tree
from pairmark.http.pages.plots.timeline import timeline
from pairmark.http.pages.shown import decimal, percent, points, probability, query, short_points, whole
from pairmark.provenance.merkle import inclusion_proof, leaf_hash, reader_of, root

KINDS = ("lost", "gained", "kept", "neither")


@given(low=st.fractions(0, 1), value=st.fractions(0, 1), high=st.fractions(0, 1), signed=st.booleans())
def test_a_bar_keeps_its_order_and_stays_on_the_drawing(low: Fraction, value: Fraction, high: Fraction, signed: bool) -> None:
    low, value, high = sorted((low, value, high))
    number = {"value": f"{float(value):.6f}", "interval": {"low": f"{float(low):.6f}", "high": f"{float(high):.6f}"}}
    bar = interval_bar(number, {"low": "-3.000000", "high": "3.000000"}, low=-1 if signed else 0, high=1)
    assert bar.low is not None
    assert bar.point is not None
    assert bar.high is not None
    assert MARGIN <= bar.low <= bar.point <= bar.high <= WIDTH - MARGIN
    assert (bar.least, bar.most) == (MARGIN, WIDTH - MARGIN), "what lies outside of the scale is at its edge"
    assert (bar.zero is not None) == signed


def test_what_is_undefined_is_not_drawn() -> None:
    bar = interval_bar({"value": None, "reason": "no cell"})
    assert (bar.point, bar.low, bar.high, bar.least, bar.most) == (None,) * 5
    bar = interval_bar({"value": "0.000000", "interval": {"reason": "too few tasks"}}, low=-1)
    assert bar.point == WIDTH / 2, "a rate of 0 is drawn, at 0"
    assert bar.low is None


def test_a_scale_of_differences_has_room_for_all() -> None:
    def change(value: str, low: str | None = None, high: str | None = None) -> dict[str, Any]:
        interval = {"reason": "none"} if low is None else {"low": low, "high": high}
        return {"left": {}, "change": {"value": value}, "interval": interval}

    assert difference_scale([]) == 0.1
    assert difference_scale([change("0.050000", "-0.150000", "0.250000")]) == 0.5
    assert difference_scale([change("-1.500000")]) == 2
    assert difference_scale([{"change": None, "reason": "x"}, change("0.100000")]) == 0.1


def cells_of(tasks: int, injections: int, **counts: list[int]) -> dict[str, Any]:
    size = tasks * injections
    none = [0] * size
    return {
        "epochs": 1, "tasks": [f"t{place}" for place in range(tasks)], "injections": [f"i{place}" for place in range(injections)],
        "cells": {
            "task": [place // injections for place in range(size)], "injection": [place % injections for place in range(size)],
            **{kind: counts.get(kind, none) for kind in KINDS}, "attack_success": counts.get("attack_success", none), "attack_success_known": none,
        },
    }  # fmt: skip


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 5), min_size=6, max_size=6))
def test_every_cell_is_drawn_once_and_named_so(outcomes: list[tuple[int, ...]]) -> None:
    lost, gained, kept, neither, success = (list(column) for column in zip(*outcomes, strict=True))
    answer = cells_of(2, 3, lost=lost, gained=gained, kept=kept, neither=neither, attack_success=success)
    found = heat_map(answer)
    states = [state_of(answer["cells"], place) for place in range(6)]
    assert sum(path.count("M") for _, path in found.paths) == 6
    assert {state: path.count("M") for state, path in found.paths} == {state: states.count(state) for state in STATES if state in states}
    letters = found.letters.replace(" ", "")
    assert [letter.lower() for letter in letters] == [dict(zip(STATES, "lgknmu", strict=True))[state] for state in states]
    assert [letter.isupper() for letter in letters] == [reached > 0 for reached in success]


def test_a_large_map_is_shown_in_windows() -> None:
    answer = cells_of(ROWS + 7, COLUMNS + 3)
    first, last = heat_map(answer), heat_map(answer, ROWS, COLUMNS)
    assert (len(first.rows), len(first.columns)) == (ROWS, COLUMNS)
    assert (last.rows[0], last.columns[0], len(last.rows), len(last.columns)) == (f"t{ROWS}", f"i{COLUMNS}", 7, 3)
    beyond = heat_map(answer, 10_000, 10_000)
    assert (beyond.rows, beyond.columns, beyond.paths) == ((), (), ())


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 21, 33])
def test_a_proof_is_drawn_up_to_the_root_whatever_the_tree(size: int) -> None:
    leaves = [leaf_hash(f"entry {place}".encode()) for place in range(size)]
    read = reader_of(leaves)
    for index in range(size):
        proof: dict[str, Any] = {
            "index": index, "size": size, "leaf": base64.b64encode(leaves[index]).decode(), "root": base64.b64encode(root(read, size)).decode(),
            "path": [base64.b64encode(node).decode() for node in inclusion_proof(read, index, size)],
        }  # fmt: skip
        tree = proof_tree(proof)
        assert tree.holds
        assert len(tree.steps) == len(proof["path"])
        if proof["path"]:
            turned = [base64.b64encode(bytes(32)).decode(), *proof["path"][1:]]
            assert not proof_tree({**proof, "path": turned}).holds


def test_series_have_letters_of_their_own_however_many_there_are() -> None:
    def item(place: int) -> dict[str, Any]:
        number = {"value": "0.500000", "interval": {"low": "0.400000", "high": "0.600000"}}
        system: dict[str, Any] = {"model": {"requested": f"m{place}", "served": []}, "defenses": None if place % 2 else [], "scaffold": None}
        metrics = {"utility_under_attack": number, "benign_utility": {"value": None, "reason": "none"}}
        return {"certificate": f"c{place}", "issued_at": f"2026-01-{1 + place % 28:02d}T00:00:00+00:00", "system": system, "metrics": metrics, "left_out": None}

    found = timeline([*(item(place) for place in range(60)), {"aggregate": "a", "left_out": "uncertifiable"}, {**item(60), "left_out": "revoked"}])
    assert len({one.letter for one in found.series}) == len(found.series) == 60
    assert len(found.marks) == 60
    assert all(mark.benign is None for mark in found.marks)
    assert timeline([]).marks == ()
    assert len(timeline([item(0)]).days) == 1


@given(st.fractions(-1, 1))
def test_numbers_are_only_written_another_way(number: Fraction) -> None:
    text = f"{number.numerator}/{number.denominator}"
    minus = "\N{MINUS SIGN}"
    assert abs(Fraction(percent(text).replace(minus, "-")) - 100 * number) <= Fraction(1, 200)
    assert abs(Fraction(points(text).replace(minus, "-")) - 100 * number) <= Fraction(1, 200)
    assert re.fullmatch(r"[+−]?\d+[.]\d\d", points(text))
    assert Fraction(short_points(text).replace(minus, "-")) == Fraction(percent(text).replace(minus, "-"))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("1", "1"), ("0", "0"), ("0.205074", "0.205074"), ("0.000100000", "0.000100000"), ("0.0000999999", "1.00 × 10⁻⁴"),
        ("3.36973e-08", "3.37 × 10⁻⁸"), ("1.5e-123", "1.50 × 10⁻¹²³"),
    ],
)  # fmt: skip
def test_a_small_p_value_is_a_power_of_ten(given: str, shown: str) -> None:
    assert probability(given).replace("\N{NO-BREAK SPACE}", " ") == shown


def test_counts_and_addresses() -> None:
    assert whole(1234567) == "1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}567"
    assert decimal("2.500000", 0) == "2", "ties to even"
    assert query("/x", {"a": None, "b": "", "c": 0}, d=["1", "2"], e="a&b") == "/x?c=0&d=1&d=2&e=a%26b"
