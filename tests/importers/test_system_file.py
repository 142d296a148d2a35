"""What the harness did not record is given beside it; it never overrules what it did record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.documents.run import Run
from pairmark.domain.errors import Malformed
from tests.importers.logs import DIGEST, SYSTEM, put, read, record

FULL: dict[str, Any] = {
    "system": {
        "model": {"requested": "m", "served": ["m-2026-01-01"], "provider": "p"},
        "decoding": {"temperature": 0.0, "top_p": None, "max_tokens": 4096, "reasoning": "low"},
        "tools_digest": DIGEST,
        "system_prompt_digest": digest_of_bytes(SYSTEM.encode()),
        "scaffold": {"name": "loop", "version": "1"},
        "defenses": [{"name": "filter", "version": "1", "changes": ["tools"]}],
        "limits": {},
    },
    "harness": {"name": "fork-of-agentdojo", "version": "0.1.35", "commit": "abc", "image": "sha256:x"},
    "epochs": [{"epoch": 1, "seed": 0}],
    "retries": {"max_attempts": 3},
    "started_at": "2026-01-22T07:00:00+00:00",
    "finished_at": "2026-01-22T09:10:00Z",
}


def run_with(folder: Path, system: dict[str, Any]) -> dict[str, Any]:
    put(folder, record())
    found = read(folder, "benign", system=system).run
    Run.model_validate_json(canonical_bytes(found))
    return found


def test_everything_that_is_given_stands_in_the_run_as_written(tmp_path: Path) -> None:
    found = run_with(tmp_path, FULL)
    assert {key: found[key] for key in FULL} == FULL


def test_a_key_that_is_left_out_stays_unrecorded(tmp_path: Path) -> None:
    found = run_with(
        tmp_path, {"system": {"model": {"served": ["m"]}, "decoding": {"temperature": None}, "scaffold": {"name": "x"}}}
    )
    assert found["system"]["model"] == {"requested": None, "served": ["m"], "provider": None}
    assert found["system"]["scaffold"] == {"name": "x", "version": None}
    assert found["system"]["decoding"] == {"temperature": None}, "a missing key is not one that was not sent"
    assert (found["system"]["defenses"], found["system"]["limits"], found["system"]["tools_digest"]) == (
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({"system": {"system_prompt_digest": DIGEST}}, "/system/system_prompt_digest"),
        ({"harness": {"version": "0.1.36"}}, "/harness/version"),
        ({"epochs": [{"epoch": 2, "seed": 1}]}, "/epochs"),
        ({"epochs": [{"epoch": 1, "seed": 1}, {"epoch": 1, "seed": 1}]}, "/epochs"),
        ({"epochs": []}, "/epochs"),
    ],
)
def test_what_contradicts_the_files_is_refused(tmp_path: Path, given: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Malformed) as caught:
        run_with(tmp_path, given)
    assert (caught.value.code, caught.value.pointer) == ("contradiction", pointer)


def test_a_seed_other_than_the_folders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Malformed) as caught:
        run_with(tmp_path / "seed-3", {"epochs": [{"epoch": 1, "seed": 4}]})
    assert caught.value.pointer == "/epochs/0/seed"


@pytest.mark.parametrize(
    ("given", "code", "pointer"),
    [
        ({"sytem": {}}, "unknown-key", "/sytem"),
        ({"system": {"temperature": 0}}, "unknown-key", "/system/temperature"),
        ({"attack": {"name": "x"}}, "unknown-key", "/attack"),
        ({"system": {"tools_digest": "sha256:ABC"}}, "invalid-value", "/system/tools_digest"),
        ({"system": {"decoding": {"temperature": "0"}}}, "invalid-value", "/system/decoding/temperature"),
        ({"system": {"model": {"served": "m"}}}, "invalid-value", "/system/model/served"),
        ({"started_at": "2026-01-22 07:00:00"}, "invalid-value", "/started_at"),
        ({"epochs": [{"epoch": 0, "seed": None}]}, "invalid-value", "/epochs/0/epoch"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(
    tmp_path: Path, given: dict[str, Any], code: str, pointer: str
) -> None:
    with pytest.raises(Malformed) as caught:
        run_with(tmp_path, given)
    assert (caught.value.code, caught.value.pointer) == (code, pointer)
