"""The JSON Schemas (2020-12) of the documents, generated from the models: `python -m pairmark.adapters.schemas --write|--check`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from pairmark.domain.documents.aggregate import Aggregate
from pairmark.domain.documents.base import Strict
from pairmark.domain.documents.comparison import Comparison, ComparisonSet
from pairmark.domain.documents.episode import Episode
from pairmark.domain.documents.evaluation_plan import EvaluationPlan, PlanRequest
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.probe import ProbeDocument
from pairmark.domain.documents.problem import Problem
from pairmark.domain.documents.report import Report
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.documents.suite_diff import SuiteDiff
from pairmark.domain.quality import QualityResult
from pairmark.importers.inspect.mapping import InspectMapping
from pairmark.importers.mapping import Mapping

DIALECT = "https://json-schema.org/draft/2020-12/schema"

DOCUMENTS: dict[str, type[Strict]] = {
    "aggregate": Aggregate,
    "comparison": Comparison,
    "comparison-set": ComparisonSet,
    "episode": Episode,
    "evaluation-plan": EvaluationPlan,
    "inspect-mapping": InspectMapping,
    "mapping": Mapping,
    "plan-request": PlanRequest,
    "policy": Policy,
    "probe": ProbeDocument,
    "problem": Problem,
    "quality": QualityResult,
    "report": Report,
    "run": Run,
    "suite": SuiteManifest,
    "suite-diff": SuiteDiff,
}
"""Every document that has a schema, by the name its schema file carries."""


class _Generator(GenerateJsonSchema):
    """Says what the models say, in a way that every validator reads alike."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """Titles only on documents and their parts: the key already names a field."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """No defaults: an absent key is not a written null, and digests are over documents as written."""
        return self.generate_inner(schema["schema"])

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        """Some regular expression dialects let `$` match before a final newline; where one is refused, say so apart."""
        found = super().str_schema(schema)
        pattern = found.get("pattern")
        if pattern is not None and re.fullmatch(pattern.removeprefix("^").removesuffix("$"), "a\na") is None:
            found["not"] = {"pattern": "\\n"}
        return found


def file_name(name: str) -> str:
    """Name of a document's schema file."""
    return f"{name}-v1.schema.json"


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a document."""
    model = DOCUMENTS[name]
    found = model.model_json_schema(by_alias=True, schema_generator=_Generator, mode="validation")
    return {"$schema": DIALECT, "$id": f"urn:pairmark:schema:{name}:v1", **found, "title": f"pairmark/{name}/v1"}


def schema_bytes(name: str) -> bytes:
    """The file's content: keys sorted, two spaces, a newline at the end."""
    return (json.dumps(schema_of(name), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def write(folder: Path) -> list[Path]:
    """Write every schema file; returns those that changed. Nothing is removed: a released schema stays."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name in DOCUMENTS:
        path = folder / file_name(name)
        content = schema_bytes(name)
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)
            changed.append(path)
    return changed


def differences(folder: Path) -> list[str]:
    """What keeps `folder` from holding exactly the schemas of the models, one line each; empty when they are equal."""
    found = []
    for name in DOCUMENTS:
        path = folder / file_name(name)
        if not path.is_file():
            found.append(f"{path}: expected the schema of {name}, found no file")
        elif path.read_bytes() != schema_bytes(name):
            found.append(f"{path}: differs from the model of {name}")
    return found + [f"{path}: no document has this schema" for path in _unknown(folder)]


def _unknown(folder: Path) -> list[Path]:
    known = {file_name(name) for name in DOCUMENTS}
    return sorted(path for path in folder.glob("*.schema.json") if path.name not in known)


def main(arguments: list[str]) -> int:
    """Exit 0 when written or equal, 1 when `--check` finds a difference, 2 on wrong usage."""
    from pairmark.resources import data_folder

    if len(arguments) != 1 or arguments[0] not in ("--write", "--check"):
        print("usage: python -m pairmark.adapters.schemas --write | --check", file=sys.stderr)
        return 2
    folder = data_folder("schemas")
    if arguments[0] == "--write":
        for path in write(folder):
            print(f"wrote {path}")
        return 0
    wrong = differences(folder)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        print(
            "expected the committed schemas to be the models'; run `make schemas` and commit the result",
            file=sys.stderr,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
