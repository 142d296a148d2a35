"""How many runs of a system were announced, whatever an announcement left unsaid."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pairmark.provenance.entries import Announcement, Sealed, entry_bytes, parse_entry
from pairmark.provenance.registrations import (
    Registered,
    SystemNames,
    count_registered,
    names_of,
    registered,
    system_key,
)

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
NAMES = SystemNames(requested="gpt-x", provider="openai", defenses=("filter",))

said = st.sampled_from([None, "a", "b"])
systems = st.builds(SystemNames, requested=said, provider=said, defenses=st.sampled_from([None, (), ("a",), ("a", "b")]))


def announcement(run: str, names: SystemNames, suite: str = DIGEST, arm: Any = "attacked", late: bool = False) -> Any:
    body = Announcement(run=run, document=DIGEST, suite=suite, system=names.key(), arm=arm, after_the_fact=late, at="2026-01-22T07:00:00Z")
    return parse_entry(entry_bytes(body))


def sealed(run: str) -> Any:
    return parse_entry(entry_bytes(Sealed(run=run, document=DIGEST, ledger=DIGEST, count=1, at="2026-01-22T07:00:00Z")))


def filled_in(names: SystemNames, full: SystemNames) -> bool:
    """Whether an amendment, which fills in nulls only, can make `full` of `names`."""
    return all(before is None or before == after for before, after in zip(names.model_dump().values(), full.model_dump().values(), strict=True))


@given(systems, systems)
def test_an_announcement_is_counted_for_every_system_that_it_can_become(announced: SystemNames, full: SystemNames) -> None:
    found = count_registered([announcement("r", announced)], DIGEST, registered(full, 0, 0, 0), "attacked")
    assert found.announced == int(filled_in(announced, full))


def test_tries_that_named_no_system_are_counted_for_the_one_that_was_shown() -> None:
    nothing = SystemNames(requested=None, provider=None, defenses=None)
    entries = [announcement(f"r{n}", nothing) for n in range(10)] + [sealed("r3"), announcement("late", NAMES, late=True), sealed("late")]
    found = count_registered(entries, DIGEST, registered(NAMES, 0, 0, 0), "attacked")
    assert (found.announced, found.unfinished, found.after_the_fact) == (11, 9, 1)


def test_other_systems_suites_and_arms_are_not_counted() -> None:
    entries = [
        announcement("one", NAMES), announcement("two", NAMES.model_copy(update={"requested": "gpt-y"})),
        announcement("three", NAMES, suite=OTHER), announcement("four", NAMES, arm="benign"),
        announcement("five", NAMES.model_copy(update={"defenses": ()})),
    ]  # fmt: skip
    assert count_registered(entries, DIGEST, registered(NAMES, 0, 0, 0), "attacked").announced == 1


def test_a_certificate_that_does_not_say_of_what_is_counted_as_it_was_then() -> None:
    entries = [announcement("one", NAMES), announcement("two", NAMES.model_copy(update={"provider": None}))]
    before = Registered.model_validate({"system": NAMES.key(), "announced": 1, "unfinished": 1, "afterTheFact": 0})
    assert count_registered(entries, DIGEST, before, "attacked") == before
    assert count_registered(entries, DIGEST, registered(NAMES, 0, 0, 0), "attacked").announced == 2


def test_the_words_and_the_digest_of_a_system_are_one() -> None:
    value = registered(NAMES, 1, 0, 0).model_dump(mode="json", by_alias=True)
    value["of"]["provider"] = "elsewhere"
    with pytest.raises(ValidationError, match="digest of `of`"):
        Registered.model_validate_json(json.dumps(value))


def test_nothing_but_model_provider_and_names_of_defenses_makes_another_system() -> None:
    system: dict[str, Any] = {
        "model": {"requested": "m", "served": None, "provider": "p"}, "defenses": [{"name": "b"}, {"name": "a"}], "limits": {"max_steps": 15},
    }  # fmt: skip
    other = copy.deepcopy(system)
    other["limits"], other["model"]["served"], other["defenses"] = {}, ["m-1"], [{"name": "a", "version": "2"}, {"name": "b"}]
    assert system_key({"system": system}) == system_key({"system": other})
    assert names_of({"system": {"model": None, "defenses": None}}) == SystemNames(requested=None, provider=None, defenses=None)
