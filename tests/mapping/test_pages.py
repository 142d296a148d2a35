"""The pages about importing: their examples are mappings, and every key and reader is on them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.schemas import schema_of
from pairmark.importers.mapping import parse_mapping


def _page(repository: Path, name: str) -> str:
    return (repository / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["mapping.md", "importing.md"])
def test_the_examples_are_mappings(repository: Path, name: str) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", _page(repository, name), flags=re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        assert parse_mapping(block.encode())["columns"]


def _keys(schema: Any) -> set[str]:
    parts = [schema, *schema.get("$defs", {}).values()]
    return {key for part in parts for key in part.get("properties", {})}


def test_every_key_and_word_is_explained(repository: Path) -> None:
    page = _page(repository, "mapping.md")
    schema = schema_of("mapping")
    named = set(re.findall(r"[A-Za-z_]+(?:-[a-z]+)*", page))
    assert _keys(schema) - named == set()
    words = set(re.findall(r'"enum": \[(.*?)\]', json.dumps(schema)))
    assert {word for each in words for word in json.loads(f"[{each}]")} - named == set()
