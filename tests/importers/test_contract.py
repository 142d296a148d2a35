"""Every importer that is installed keeps what the interface says, on its own examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import EPISODE_SCHEMA, in_canonical_order
from pairmark.domain.errors import Malformed
from pairmark.importers.base import Example, Importer
from pairmark.importers.registry import importer_of, installed_importers

CASES = [(importer, example) for importer in installed_importers().values() for example in importer.examples]


def test_importers_are_found_by_their_name() -> None:
    assert "agentdojo" in installed_importers()
    for name, importer in installed_importers().items():
        assert (importer.name, importer_of(name)) == (name, importer)
        assert importer.title
        assert importer.examples


def test_an_unknown_harness_is_refused_with_those_there_are() -> None:
    with pytest.raises(Malformed, match="agentdojo"):
        importer_of("agentdogo")


@pytest.mark.parametrize(("importer", "example"), CASES, ids=[f"{i.name}: {e.title}" for i, e in CASES])
def test_an_example_gives_its_rows(importer: Importer, example: Example, tmp_path: Path) -> None:
    for name, text in example.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert importer.recognises([tmp_path])
    manifest, value = read_document(SuiteManifest, json.dumps(example.manifest).encode())
    found = importer.read(
        [tmp_path], suite=manifest, suite_digest=suite_digest(value), arm=example.arm, attack=example.attack
    )
    run = Run.model_validate_json(canonical_bytes(found.run))
    assert run.suite.digest == suite_digest(value)
    assert run.episodes is None
    assert dict(found.episodes.schema) == EPISODE_SCHEMA
    assert found.episodes.equals(in_canonical_order(found.episodes))
    assert found.episodes.height == len(example.rows)
    for row, expected in zip(found.episodes.iter_rows(named=True), example.rows, strict=True):
        assert {name: row[name] for name in expected} == dict(expected)
