"""Examples in the OpenAPI document: of every request and every successful answer one, recorded from a running service.

`examples.json` is written by `tools/openapi.py --examples`. Long lists in it are cut after their first items.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson

FILE = Path(__file__).with_name("examples.json")


@cache
def recorded() -> dict[str, Any]:
    """By method and path: `request` and `answers` by status, each a media type and a value, and `parameters` by name; `problems` by status."""
    found: dict[str, Any] = orjson.loads(FILE.read_bytes()) if FILE.is_file() else {"calls": {}, "problems": {}}
    return found


def add_examples(document: dict[str, Any]) -> None:
    """Put every example to the call that it is of."""
    problems = recorded()["problems"]
    document["components"]["examples"] = {f"problem-{status}": {"value": value} for status, value in sorted(problems.items())}
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            call = recorded()["calls"].get(f"{method.upper()} {path}", {})
            _put(described.get("requestBody", {}), call.get("request"))
            for parameter in described.get("parameters", ()):
                if parameter["name"].lower() in call.get("parameters", {}):
                    parameter["example"] = call["parameters"][parameter["name"].lower()]
            for status, response in described["responses"].items():
                if status in call.get("answers", {}):
                    _put(response, call["answers"][status])
                elif status in problems:
                    for content in response.get("content", {}).values():
                        content["examples"] = {"problem": {"$ref": f"#/components/examples/problem-{status}"}}


def _put(described: dict[str, Any], example: dict[str, Any] | None) -> None:
    if example is not None and example["type"] in described.get("content", {}):
        content = described["content"]
        content[example["type"]] = {**content[example["type"]], "example": example["value"]}
