"""docs/documents.md names every key of the documents it describes, and every code that an example is refused with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pairmark.adapters.schemas import schema_of
from tests.schemas.examples import examples

SECTIONS = {
    "suite": "Suite manifest",
    "run": "Run",
    "episode": "Episode",
    "policy": "Policy",
    "report": "Report",
    "problem": "Problem",
    "quality": "Quality result",
}


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "documents.md").read_text(encoding="utf-8")


def _keys(document: str) -> set[str]:
    """Every key of a document and its parts; of a report's numbers, those that the contract names."""
    schema = schema_of(document)
    parts = schema.get("$defs", {})
    chosen = parts if document in ("suite", "run", "policy", "quality") else {}
    if document == "report":
        chosen = {
            name: parts[name]
            for name in (
                "ArmCounts",
                "Estimate",
                "Finding",
                "Metrics",
                "NoInterval",
                "PolicyReference",
                "ReportRuns",
                "ReportSuite",
            )
        }
    if document == "problem":
        chosen = {"ProblemItem": parts["ProblemItem"]}
    return set(schema["properties"]).union(*(part.get("properties", {}) for part in chosen.values()))


@pytest.mark.parametrize("document", SECTIONS)
def test_every_key_is_explained(page: str, document: str) -> None:
    section = re.split(r"^## ", page.partition(f"\n## {SECTIONS[document]}\n")[2], flags=re.MULTILINE)[0]
    assert section
    named = set(re.findall(r"`([A-Za-z_]+)`", section))
    assert _keys(document) - named == set()


def test_every_code_is_listed(page: str) -> None:
    named = set(re.findall(r"`([a-z0-9-]+)`", page))
    assert {example.code for example in examples() if example.code is not None} - named == set()


def test_the_words_for_status_outcome_and_verdict(page: str) -> None:
    for document, key in (("episode", "status"), ("report", "verdict"), ("suite", "weighting"), ("run", "arm")):
        for word in schema_of(document)["properties"][key]["enum"]:
            assert f"`{word}`" in page
    for word in schema_of("report")["$defs"]["Finding"]["properties"]["outcome"]["enum"]:
        assert f"`{word}`" in page
    assert json.dumps("full") in page
