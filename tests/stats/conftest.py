"""The facts: a compact set of our own that is always there, and the whole oracle where it lies beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session", params=["own", "oracle"])
def facts(request: pytest.FixtureRequest) -> Any:
    """Reference values by section; every test that asks for them runs on both sets."""
    if request.param == "own":
        return json.loads(Path(__file__).with_name("vital_values.json").read_text(encoding="utf-8"))
    shared: Path = request.getfixturevalue("shared")
    return json.loads((shared / "oracle.json").read_text(encoding="utf-8"))
