"""The committed examples: schemas/examples/<document>/{valid,invalid}/*.json, listed in schemas/examples/index.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator

from pairmark.adapters.schemas import file_name
from pairmark.resources import data_folder

FOLDER = data_folder("schemas") / "examples"


@dataclass(frozen=True)
class Example:
    """One file. `code` and `pointer` are what the reader must say of an invalid one.

    `by_schema`: JSON Schema can express what is wrong; otherwise only the reader sees it (a duplicate key, ids that are equal
    after normalisation, bytes that are not UTF-8).
    """

    document: str
    path: Path
    code: str | None
    pointer: str | None
    by_schema: bool

    def __str__(self) -> str:
        return f"{self.document}/{self.path.stem}"


@cache
def examples() -> tuple[Example, ...]:
    index = json.loads((FOLDER / "index.json").read_bytes())
    found = []
    for document, sets in index.items():
        found += [Example(document, FOLDER / document / "valid" / name, None, None, True) for name in sets["valid"]]
        for name, expected in sets["invalid"].items():
            path = FOLDER / document / "invalid" / name
            found.append(
                Example(document, path, expected["code"], expected["pointer"], expected["judged_by"] == "both")
            )
    return tuple(found)


@cache
def validator(document: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((data_folder("schemas") / file_name(document)).read_bytes()))
