"""A suite's page says what its probes found, and where there is none."""

from __future__ import annotations

import re

import pytest

from pairmark.domain.world import World
from tests.pages.filling import Filled
from tests.pages.test_answers import Seen, get


def probes_of(service: Filled, digest: str) -> str:
    page = get(service, f"/suites/{digest}").text
    section = page[page.index('id="probes"') : page.index('id="versions"')]
    return re.sub(r"\s+", " ", " ".join(Seen(section).text))


def test_floor_and_reach_are_the_manifests_with_their_shares(demo: Filled) -> None:
    recorded = demo.get(f"/v1/suites/{demo['banking v1.2.2']}")["probes"]
    text = probes_of(demo, demo["banking v1.2.2"])
    for words in (
        "An agent that does nothing scores 31.25 % 5/16 .", "can meet its injection in every planned attacked cell.",
        "planned attacked cells 100.00 % 144/144", "tasks that read some place for payloads 100.00 % 16/16",
        "pairs of a task and such a place 25.00 % 16/64",
    ):  # fmt: skip
        assert words in text, words
    for probe in recorded.values():
        assert probe["method"] in text


def test_a_manifest_without_a_reach_says_how_to_find_it(demo: Filled) -> None:
    text = probes_of(demo, demo["filter suite"])
    assert "Where an injection is ever shown to the agent is not in the manifest ." in text
    assert "pairmark suite probe" in text


@pytest.mark.parametrize(
    ("ceiling", "words"),
    [
        ("1/3", "can meet its injection in 33.33 % of the planned attacked cells, and in none of the others."),
        ("0/7", "can meet its injection in no planned attacked cell."), ("3/3", "can meet its injection in every planned attacked cell."),
    ],
)
def test_cells_beyond_reach_are_told_in_words(empty: Filled, ceiling: str, words: str) -> None:
    reach = {"reachable_pairs": "1/9", "reachable_tasks": "1/3", "delivery_ceiling": ceiling, "method": "<b>marked</b>"}
    text = probes_of(empty, empty.register(World().edit_suite("/probes/canary", reach).suite_manifest()))
    assert words in text
    assert "<b>marked</b>" in text  # as text: no element of it
