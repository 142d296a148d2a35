"""The recorder runs inside other people's harnesses: it brings little along."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {
    "fastapi", "starlette", "sqlalchemy", "sqlmodel", "great_expectations", "scipy", "numpy", "pandas", "polars", "pyarrow", "httpx",
    "typer", "rich", "cryptography", "alembic", "zstandard", "uvicorn", "jinja2",
}  # fmt: skip


def test_it_imports_the_documents_and_what_they_stand_on() -> None:
    code = "import sys, json; import pairmark.record; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = json.loads(done.stdout)
    assert {name.partition(".")[0] for name in modules} & HEAVY == set()
    own = {name for name in modules if name.startswith("pairmark.")}
    layers = {name.split(".")[1] for name in own}
    assert layers <= {"domain", "importers", "record"}
    assert {name for name in own if name.startswith("pairmark.importers.")} == {"pairmark.importers.system_file"}
