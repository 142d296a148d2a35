"""The models and the JSON Schemas accept the same documents, except where a schema cannot say what the reader checks."""

from __future__ import annotations

import calendar
import copy
import hashlib
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pairmark.adapters.schemas import DOCUMENTS
from pairmark.domain.documents.base import read_document
from pairmark.domain.errors import Malformed
from tests.schemas.examples import examples, validator

DIGEST = "sha256:" + hashlib.sha256(b"").hexdigest()
ATOMS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 1.0, 0.0, -0.0, 1.5, 1e300, 2**53 - 1, -(2**53) + 1, float(2**53), 100_001,
    "", "a", "A", "a\n", "\na", "\n", " ", "a\x00", "a\x1fb", "a\x7f", "a\x85", "a\u2028", "\u202ea", "é", "e\u0301", "🦀", "a" * 1024, "a" * 1025,
    "🦀" * 1024, "0", "1", "true", "null", "full", "task", "cell", "benign", "certified", "refused", "passed", "completed", "standard", "0.95",
    "1/2", "2/1", "0/1", "1/0", "01/2", "-1/2", "1/2\n", "9999999999999999/9999999999999999", "1" * 17 + "/1",
    "0.500000", "-0.500000", "0.5", "00.500000", "0.500000\n", ".500000",
    DIGEST, DIGEST + "\n", DIGEST[:-1], DIGEST + "0", DIGEST.upper(), "sha256:" + "G" * 64, "\n" + DIGEST,
    "2026-01-22T07:00:00+00:00", "2026-01-22t07:00:00z", "2026-01-22T07:00:00", "2026-01-22T07:00:60Z", "2026-01-22T24:00:00Z", "2026-02-30T00:00:00Z",
    "2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z",
    "2026-01-22T07:00:00.123456789Z", "2026-01-22T07:00:00.1234567890Z", "2026-01-22T07:00:00+24:00", "2026-01-22T07:00:00Z\n", "２026-01-22T07:00:00Z",
    "pairmark/suite/v1", "pairmark/run/v1", "suite-pinned", "suite-pinned\n", "suite--pinned", "a" * 64, "a" * 65,
    [], [None], [[]], ["a"], ["a", "a"], {}, {"": None}, {"a": 0.5}, {"null_agent": None}, {"task": "a", "injection": "a"},
]  # fmt: skip
KEYS = [
    "",
    "a",
    "schema",
    "schema_",
    "title",
    "title_",
    "tags",
    "id",
    "weights",
    "description",
    "counts",
    "reason",
    "__proto__",
    "a\n",
]

READER_ONLY = (
    "expected a fraction from 0 to 1",
    "expected each ",
    "expected grid cells of listed tasks",
    "expected no more ",
    "expected attack_success and attack_success_known both or neither",
    "expected low up to high",
    "expected some component above 0",
    "expected a difference of at most the discordance",
    "expected an integer within",  # of free-form values, which have no schema
    "expected exactly one of `", "expected one of `", "expected `", "expected no `seed`", "expected nothing beside `constant`",
    "expected values for at least one status", "expected the values that mean `true`",  # keys of a mapping that go together
    "expected a regular expression", "expected a pattern with one group", "expected either `true`", "expected no value that is both",
)
"""What the reader refuses and JSON Schema cannot express: relations between values, and ranges of free-form ones."""


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(place for key, child in inside for place in places(child, (*above, key)))]


def at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, Any]:
    """A valid example with one to three changes at random places."""
    chosen = draw(st.sampled_from([found for found in examples() if found.code is None]))
    document = json.loads(chosen.path.read_bytes())
    for _ in range(draw(st.integers(1, 3))):
        below = [place for place in places(document) if place]
        if not below:
            break
        place = draw(st.sampled_from(below))
        parent, key = at(document, place[:-1]), place[-1]
        match draw(st.sampled_from(["atom", "atom", "atom", "drop", "move", "again", "key", "grow"])):
            case "atom":
                parent[key] = copy.deepcopy(draw(st.sampled_from(ATOMS)))
            case "drop":
                del parent[key]
            case "move":
                parent[key] = copy.deepcopy(at(document, draw(st.sampled_from(below))))
            case "again" if isinstance(parent, list):
                parent.append(copy.deepcopy(parent[key]))
            case "key" if isinstance(parent, dict):
                parent[draw(st.sampled_from(KEYS))] = parent.pop(key)
            case "grow" if isinstance(parent[key], dict):
                parent[key][draw(st.sampled_from(KEYS))] = copy.deepcopy(draw(st.sampled_from(ATOMS)))
            case _:
                parent[key] = None
    return chosen.document, document


def judge(document: str, value: Any) -> None:
    try:
        read_document(DOCUMENTS[document], json.dumps(value).encode())
        refusal = None
    except Malformed as problem:
        refusal = problem
    by_schema = validator(document).is_valid(value)
    if refusal is None:
        assert by_schema, (
            f"the schema of {document} is stricter: {next(validator(document).iter_errors(value)).message}"
        )
    elif by_schema:
        assert refusal.message.startswith(READER_ONLY), f"the schema of {document} is looser: {refusal}"


@settings(max_examples=700)
@given(mutated())
@example(("episode", {"task_id": "t", "injection_id": None, "epoch": 1.0, "status": "completed"}))
def test_models_and_schemas_agree(case: tuple[str, Any]) -> None:
    judge(*case)


@pytest.mark.parametrize("chosen", [found for found in examples() if found.code is None], ids=str)
def test_values_of_each_example_replaced_by_atoms(chosen: Any) -> None:
    """About 150 replacements an example, spread over its places and over the atoms."""
    original = json.loads(chosen.path.read_bytes())
    below = [place for place in places(original) if place]
    replacements = [(place, atom) for place in below for atom in ATOMS]
    for place, atom in replacements[:: 1 + len(replacements) // 150 | 1]:
        document = copy.deepcopy(original)
        at(document, place[:-1])[place[-1]] = atom
        judge(chosen.document, document)


def test_a_time_is_of_a_day_that_exists() -> None:
    run = json.loads(next(found.path for found in examples() if str(found) == "run/benign").read_bytes())
    for year in (1, 4, 100, 400, 1900, 1996, 1999, 2000, 2023, 2024, 2100, 9996, 9999):
        for month in range(14):
            for day in (0, 1, 28, 29, 30, 31, 32):
                run["started_at"] = f"{year:04d}-{month:02d}-{day:02d}T00:00:00Z"
                exists = 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]
                assert validator("run").is_valid(run) is exists, run["started_at"]
