"""The committed schema files are the models', in both directions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pairmark.adapters.schemas import DIALECT, DOCUMENTS, differences, file_name, schema_bytes, write
from pairmark.resources import data_folder


def test_the_committed_files_are_the_models() -> None:
    assert differences(data_folder("schemas")) == []


def test_a_changed_a_missing_and_a_foreign_file_are_each_named(tmp_path: Path) -> None:
    write(tmp_path)
    assert differences(tmp_path) == []
    changed = json.loads(schema_bytes("run"))
    changed["properties"]["arm"]["enum"].append("baseline")
    (tmp_path / file_name("run")).write_text(json.dumps(changed), encoding="utf-8")
    (tmp_path / file_name("suite")).unlink()
    (tmp_path / "verdict-v1.schema.json").write_text("{}", encoding="utf-8")
    found = differences(tmp_path)
    assert [line.rpartition("/")[2].split(":")[0] for line in found] == [
        file_name("run"),
        file_name("suite"),
        "verdict-v1.schema.json",
    ]


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    assert len(write(tmp_path)) == len(DOCUMENTS)
    assert write(tmp_path) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_is_a_schema_of_its_dialect(name: str) -> None:
    schema = json.loads(schema_bytes(name))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT
    assert schema["$id"] == f"urn:pairmark:schema:{name}:v1"
    assert schema["title"]
    assert schema["description"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_schema_states_a_default(name: str) -> None:
    def keys(value: object, of_properties: bool = False) -> set[str]:
        if isinstance(value, dict):
            own = set() if of_properties else set(value)
            return own.union(*(keys(child, key == "properties" and not of_properties) for key, child in value.items()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    assert "default" not in keys(json.loads(schema_bytes(name)))


def test_the_command_checks_and_refuses_wrong_usage() -> None:
    command = [sys.executable, "-m", "pairmark.adapters.schemas"]
    assert subprocess.run([*command, "--check"], capture_output=True, check=False).returncode == 0
    wrong = subprocess.run([*command, "--chek"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("usage: ")
