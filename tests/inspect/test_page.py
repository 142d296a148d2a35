"""The page about Inspect logs: its example is a mapping, and every key and word of one is on it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.schemas import schema_of
from pairmark.domain.errors import Malformed
from pairmark.importers.inspect.limits import LIMITS
from pairmark.importers.inspect.mapping import AGENTDOJO, check_mapping


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "importing-inspect.md").read_text(encoding="utf-8")


def test_the_example_is_a_mapping(page: str) -> None:
    (block,) = re.findall(r"^```json\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert check_mapping(json.loads(block)).task == "mailbox"


def test_every_key_and_word_of_a_mapping_is_explained(page: str) -> None:
    schema: dict[str, Any] = schema_of("inspect-mapping")
    parts = [schema, *schema["$defs"].values()]
    section = page.partition("\n## The mapping file\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"[A-Za-z_]+", section))
    assert {key for part in parts for key in part.get("properties", {})} - named == set()
    words = re.findall(r'"enum": \[(.*?)\]', json.dumps(schema))
    assert {word for each in words for word in json.loads(f"[{each}]")} - named == set()


def test_the_limits_are_those_of_the_code(page: str) -> None:
    section = page.partition("\n## Limits\n")[2]
    for limit in (LIMITS.payload, LIMITS.payloads, LIMITS.search):
        assert f"{limit:,} " in section
    assert LIMITS.sample == LIMITS.header == 64 * 2**20
    assert LIMITS.log == 64 * 2**30
    assert LIMITS.members == 10**6


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"setup": ["\ud800"]}, "bad-mapping"),
        ({"utility": {"scorer": "s", "true": [2**60], "false": [0]}}, "bad-mapping"),
        ({"group": {"pointer": "/id", "pattern": "(a){99999999999999999999}"}}, "invalid-value"),
    ],
)
def test_what_no_mapping_can_hold_is_refused_by_name(change: dict[str, Any], code: str) -> None:
    with pytest.raises(Malformed) as refusal:
        check_mapping({**AGENTDOJO, **change}, file="mapping.json")
    assert (refusal.value.code, refusal.value.file) == (code, "mapping.json")
