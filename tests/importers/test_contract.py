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
from pairmark.importers.base import FACTS, Example, Imported, Importer, records_of
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


def _imported(importer: Importer, example: Example, folder: Path) -> Imported:
    for name, text in example.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert importer.recognises([folder])
    manifest, value = read_document(SuiteManifest, json.dumps(example.manifest).encode())
    return importer.read(
        [folder], suite=manifest, suite_digest=suite_digest(value), arm=example.arm, attack=example.attack
    )


@pytest.mark.parametrize(("importer", "example"), CASES, ids=[f"{i.name}: {e.title}" for i, e in CASES])
def test_an_example_gives_its_rows(importer: Importer, example: Example, tmp_path: Path) -> None:
    found = _imported(importer, example, tmp_path)
    _, value = read_document(SuiteManifest, json.dumps(example.manifest).encode())
    run = Run.model_validate_json(canonical_bytes(found.run))
    assert run.suite.digest == suite_digest(value)
    assert run.episodes is None
    assert dict(found.episodes.schema) == EPISODE_SCHEMA
    assert found.episodes.equals(in_canonical_order(found.episodes))
    assert found.episodes.height == len(example.rows)
    for row, expected in zip(found.episodes.iter_rows(named=True), example.rows, strict=True):
        assert {name: row[name] for name in expected} == dict(expected)


def test_each_importer_recognises_its_own_examples_and_no_others(tmp_path: Path) -> None:
    for number, (importer, example) in enumerate(CASES):
        folder = tmp_path / str(number)
        for name, text in example.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        files = [folder / name for name in example.files] if len(example.files) == 1 else []
        for paths in ([folder], files):
            recognising = [other.name for other in installed_importers().values() if paths and other.recognises(paths)]
            assert set(recognising) <= {importer.name}, example.title
        assert importer.recognises([folder])


ATTACKED_ONLY = ("attack_success", "delivered", "attacker_actions")
COLUMNS = [*ATTACKED_ONLY, "utility", "served_model", "duration_ms", "error", "task_digest", "transcript_digest"]
OF_RUN = ("decoding", "tools_digest", "system_prompt_digest", "scaffold", "defenses", "limits")


@pytest.mark.parametrize("importer", installed_importers().values(), ids=lambda importer: importer.name)
def test_what_an_importer_says_of_its_format_holds_on_its_examples(importer: Importer, tmp_path: Path) -> None:
    """`never` is never there; `always` is there in every completed episode. Who declares anything declares every fact."""
    records = records_of(importer)
    if not records:
        pytest.skip(f"{importer.name} declares nothing of its format")
    assert set(records) == set(FACTS)
    for number, example in enumerate(importer.examples):
        found = _imported(importer, example, tmp_path / str(number))
        completed = found.episodes.filter(found.episodes["status"] == "completed")
        for column in COLUMNS:
            extent = records[column].extent  # type: ignore[index]  # a column that is a fact
            if extent == "never":
                assert found.episodes[column].null_count() == found.episodes.height, column
            elif extent == "always" and (example.arm == "attacked" or column not in ATTACKED_ONLY):
                assert completed[column].null_count() == 0, column
        if records["aborts"].extent == "never":
            assert not found.episodes["status"].is_in(["infra_error", "cancelled"]).any()
        if records["attempts"].extent == "never":
            assert found.episodes["attempt"].max() in (1, None)
        for key in OF_RUN:
            extent = records[key].extent  # type: ignore[index]
            value = found.run["system"][key]
            assert extent == "sometimes" or (value is None) == (extent == "never"), key
    for fact, recorded in records.items():
        assert recorded.how, fact
        assert "\n" not in recorded.how
