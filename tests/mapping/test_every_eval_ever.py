"""Every Eval Ever records: only their own, one evaluation at a time, and nothing that the schema has no place for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.canonical import suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from pairmark.importers.base import Imported
from pairmark.importers.every_eval_ever import IMPORTER
from pairmark.importers.every_eval_ever.examples import EXAMPLES, MANIFEST
from pairmark.importers.registry import installed_importers

FILES = EXAMPLES[0].files


def lay_out(folder: Path, change: Any = None) -> Path:
    """The example's files; `change` edits each record."""
    folder.mkdir(exist_ok=True)
    records = [json.loads(line) for line in FILES["r_samples.jsonl"].splitlines()]
    for record in records:
        if change is not None:
            change(record)
    (folder / "r_samples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (folder / "r.json").write_text(FILES["r.json"], encoding="utf-8")
    return folder


def read(path: Path, arm: Any = "attacked", **more: Any) -> Imported:
    manifest, value = read_document(SuiteManifest, json.dumps(MANIFEST).encode())
    return IMPORTER.read([path], suite=manifest, suite_digest=suite_digest(value), arm=arm, **more)


def test_it_recognises_its_own_and_nobody_elses(tmp_path: Path) -> None:
    for name, importer in installed_importers().items():
        for number, example in enumerate(importer.examples):
            folder = tmp_path / f"{name}-{number}"
            for path, text in example.files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
            assert IMPORTER.recognises([folder]) == (name == IMPORTER.name), name
    assert IMPORTER.recognises([lay_out(tmp_path / "own") / "r_samples.jsonl"])
    for nothing in ([], [tmp_path / "none"], [tmp_path]):
        assert not IMPORTER.recognises(nothing)


def test_the_aggregate_record_says_what_it_can(tmp_path: Path) -> None:
    run = read(lay_out(tmp_path / "r")).run
    assert run["harness"] == {"name": "runner", "version": None, "commit": None, "image": None}
    assert run["system"]["model"] == {"requested": "m", "served": None, "provider": "acme"}
    assert run["system"]["decoding"] == {"temperature": 0}
    assert run["system"]["defenses"] is None
    with pytest.raises(Malformed) as refused:
        read(tmp_path / "r", system={"system": {"decoding": {"temperature": 1}}})
    assert (refused.value.code, refused.value.pointer) == ("contradiction", "/system/decoding/temperature")
    (tmp_path / "r" / "again.json").write_text(FILES["r.json"], encoding="utf-8")
    with pytest.raises(Malformed, match="several-aggregates"):
        read(tmp_path / "r")


def test_an_attack_that_the_aggregate_record_names_otherwise_is_a_contradiction(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "r")
    name = read(folder).run["attack"]["name"]
    assert read(folder, attack=name).run["attack"]["name"] == name
    with pytest.raises(Malformed, match="contradiction"):
        read(folder, attack="something-else")


def test_without_an_aggregate_record_the_attack_has_to_be_named(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "r")
    (folder / "r.json").unlink()
    with pytest.raises(Malformed, match="no-attack-name"):
        read(folder)
    found = read(folder, attack="named")
    assert (found.run["attack"]["name"], found.run["harness"]["name"], found.run["system"]["model"]) == ("named", None, None)


def _no_cells(record: dict[str, Any]) -> None:
    record["metadata"] = {}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda record: record.update(schema_version="0.9.0"), "unknown-version"),
        (lambda record: record.update(evaluation_name="accuracy"), "no-episodes"),
        (lambda record: record.update(model_id=record["sample_id"]), "mixed-models"),
        (lambda record: record.update(evaluation_id=record["sample_id"]), "mixed-evaluations"),
        (_no_cells, "no-cells"),
    ],
    ids=["another version", "another evaluation", "two models", "two evaluations", "no cells"],
)
def test_what_is_not_one_run_is_refused(tmp_path: Path, change: Any, code: str) -> None:
    with pytest.raises(Malformed) as refused:
        read(lay_out(tmp_path / "r", change))
    assert refused.value.code == code
    assert str(refused.value).isprintable()


def test_both_forms_of_the_version_are_read(tmp_path: Path) -> None:
    plain = read(lay_out(tmp_path / "r", lambda record: record.update(schema_version="0.2.1")))
    assert plain.episodes.equals(read(lay_out(tmp_path / "s")).episodes)
