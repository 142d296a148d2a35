"""`pairmark import`: the importers' own examples, through the command, to bundles that can be read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.adapters.ledgers.bundle import read_bundle
from pairmark.importers.base import Example
from pairmark.importers.registry import installed_importers
from tests.cli.running import Here, is_one_line

EXAMPLES = [(name, example) for name, importer in installed_importers().items() for example in importer.examples]


def _lay_out(example: Example, folder: Path) -> list[str]:
    for path, text in example.files.items():
        (folder / "runs" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "runs" / path).write_text(text, encoding="utf-8")
    (folder / "suite.json").write_text(json.dumps(example.manifest), encoding="utf-8")
    attack = [] if example.attack is None else ["--attack", example.attack]
    return [
        str(folder / "runs"),
        "--suite",
        str(folder / "suite.json"),
        "--arm",
        example.arm,
        *attack,
        "-o",
        str(folder / "bundle"),
    ]


@pytest.mark.parametrize(
    ("harness", "example"), EXAMPLES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(EXAMPLES)]
)
def test_examples(here: Here, tmp_path: Path, harness: str, example: Example) -> None:
    done = here("import", harness, *_lay_out(example, tmp_path))
    assert (done.code, done.err) == (0, "")
    arm = read_bundle(tmp_path / "bundle", example.arm)
    assert arm.ledger.height == len(example.rows)
    for row, expected in zip(arm.ledger.iter_rows(named=True), example.rows, strict=True):
        assert {key: row[key] for key in expected} == expected
    assert f"episodes: {len(example.rows)}" in done.out
    assert sorted(path.name for path in (tmp_path / "bundle").iterdir()) == ["episodes.jsonl", "run.json"]


def test_what_was_not_recorded_is_named_and_a_system_file_says_it(here: Here, tmp_path: Path) -> None:
    _, example = EXAMPLES[0]
    options = _lay_out(example, tmp_path)
    done = here("import", "agentdojo", *options)
    assert "unrecorded: system." in done.out
    assert "system.decoding" in " ".join(done.out.split())
    system = tmp_path / "system.json"
    system.write_text(json.dumps({"system": {"decoding": {"temperature": 0, "top_p": None}}}), encoding="utf-8")
    options[-1] = str(tmp_path / "again")
    again = here("import", "agentdojo", *options, "--system", system)
    assert again.code == 0
    said = " ".join(again.out.split())
    assert "system.decoding.max_tokens" in said
    assert "system.decoding.temperature" not in said
    run = json.loads((tmp_path / "again/run.json").read_bytes())
    assert run["system"]["decoding"] == {"temperature": 0, "top_p": None}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "not-json"),
        (b"[]", "not-an-object"),
        (b'{"sistem": {}}', "unknown-key"),
        (b'{"system": {"decoding": {"temperature": "0"}}}', "invalid-value"),
    ],
)
def test_a_bad_system_file(here: Here, tmp_path: Path, content: bytes, code: str) -> None:
    system = tmp_path / "system.json"
    system.write_bytes(content)
    done = here("import", "agentdojo", *_lay_out(EXAMPLES[0][1], tmp_path), "--system", system)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"[{code}]\n")
    assert done.err.startswith(str(system))
    assert is_one_line(done.err)
    assert not (tmp_path / "bundle").exists()


def test_nothing_is_overwritten(here: Here, tmp_path: Path) -> None:
    options = _lay_out(EXAMPLES[0][1], tmp_path)
    assert here("import", "agentdojo", *options).code == 0
    before = (tmp_path / "bundle/run.json").read_bytes()
    done = here("import", "agentdojo", *options)
    assert done.code == 2
    assert done.err.endswith("[exists]\n")
    assert (tmp_path / "bundle/run.json").read_bytes() == before


def test_wrong_places(here: Here, tmp_path: Path) -> None:
    options = _lay_out(EXAMPLES[0][1], tmp_path)
    for harness, path in (
        ("nobody", options[0]),
        ("agentdojo", str(tmp_path / "none")),
        ("agentdojo", str(tmp_path / "suite.json")),
    ):
        done = here("import", harness, path, *options[1:])
        assert (done.code, done.out) == (2, "")
        assert is_one_line(done.err)
