"""docs/api.md names every call, setting and code, with the defaults that hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from pairmark.http.settings import Settings
from tests.databases import SQLITE_ONLY
from tests.service.serving import Service

pytestmark = SQLITE_ONLY

RAISED = {"Malformed", "Conflict", "ConflictAt", "NotFound", "NotFoundAt", "InFlight", "Unavailable", "NotSignedIn", "NotPermitted", "NotCurrent", "TooManyRequests"}


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "api.md").read_text(encoding="utf-8")


def test_every_call_is_there_and_no_other(service: Service, page: str) -> None:
    served = {
        f"{method.upper()} {path}" for path, calls in service.get("/openapi.json").json()["paths"].items() for method in calls
    }
    written = set(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /[^`?\s]*)`", page.split("### Suites", maxsplit=1)[0]))
    assert written == served


def test_every_setting_is_there_with_its_default(repository: Path) -> None:
    page = (repository / "docs" / "operations.md").read_text(encoding="utf-8").split("Secrets are read", maxsplit=1)[0]
    rows = dict(re.findall(r"^\| `PAIRMARK_(\w+)` \|\s*`?([^`|\s]*)`?\s*\|", page, re.MULTILINE))
    assert rows == {
        each.name.upper(): "" if getattr(Settings(), each.name) is None else str(getattr(Settings(), each.name)) for each in fields(Settings)
    }


def codes(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py") if folder.is_dir() else [folder]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and isinstance(node.args[0], ast.Constant):
                place = 1 if node.func.id == "problem" else 0
                if node.func.id in RAISED or node.func.id == "problem":
                    code = node.args[place]
                    if isinstance(code, ast.Constant):
                        yield str(code.value)


def test_every_code_is_there(page: str, repository: Path) -> None:
    source = repository / "service" / "pairmark"
    found = {code for part in ("app", "http", "adapters/sql", "adapters/ledger_store.py") for code in codes(source / part)}
    assert len(found) > 35
    assert {code for code in found if f"`{code}`" not in page} == set()


def test_statuses_are_those_of_the_table(page: str) -> None:
    from pairmark.http.problems import STATUS_OF_CODE

    rows = dict(re.findall(r"^\| (\d{3})[^|]*\| (.*) \|$", page, re.MULTILINE))
    for code, status in STATUS_OF_CODE.items():
        assert f"`{code}`" in rows[str(status)]
