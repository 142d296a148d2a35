"""Every example is judged twice: by the models, and by a JSON Schema validator that knows nothing of them."""

from __future__ import annotations

import json

import pytest

from pairmark.adapters.schemas import DOCUMENTS
from pairmark.domain.documents.base import read_document
from pairmark.domain.errors import Malformed
from tests.schemas.examples import FOLDER, Example, examples, validator

VALID = [example for example in examples() if example.code is None]
INVALID = [example for example in examples() if example.code is not None]


def test_every_document_has_both_kinds() -> None:
    for document in DOCUMENTS:
        assert any(example.document == document for example in VALID)
        assert any(example.document == document and example.by_schema for example in INVALID)


def test_the_index_lists_exactly_the_files() -> None:
    assert {example.path for example in examples()} == set(FOLDER.glob("*/*/*"))
    assert len(examples()) == len({example.path for example in examples()})


@pytest.mark.parametrize("example", VALID, ids=str)
def test_valid(example: Example) -> None:
    data = example.path.read_bytes()
    _, value = read_document(DOCUMENTS[example.document], data)
    assert value == json.loads(data)
    validator(example.document).validate(json.loads(data))


@pytest.mark.parametrize("example", INVALID, ids=str)
def test_invalid(example: Example) -> None:
    data = example.path.read_bytes()
    with pytest.raises(Malformed) as refused:
        read_document(DOCUMENTS[example.document], data, file=example.path.name)
    assert (refused.value.code, refused.value.pointer) == (example.code, example.pointer)
    assert str(refused.value).startswith(example.path.name)
    assert str(refused.value).isprintable()
    if example.by_schema:
        assert not validator(example.document).is_valid(json.loads(data))
