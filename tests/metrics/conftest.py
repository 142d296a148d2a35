"""The facts: a compact set of our own that is always there, and the whole oracle where it lies beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.pairing import Pairing
from tests.metrics.hand import hand_pairing


@pytest.fixture(scope="session", params=["own", "oracle"])
def facts(request: pytest.FixtureRequest, repository: Path) -> Any:
    """Reference values by section; every test that asks for them runs on both sets."""
    if request.param == "own":
        return json.loads((repository / "tests" / "stats" / "vital_values.json").read_text(encoding="utf-8"))
    shared: Path = request.getfixturevalue("shared")
    return json.loads((shared / "oracle.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def expected(facts: Any) -> Any:
    """What is right for the suite worked by hand."""
    return facts["hand_data"]["expected"]


@pytest.fixture(scope="session")
def hand(facts: Any) -> Pairing:
    """The suite worked by hand, through real documents and ledgers."""
    return hand_pairing(facts["hand_data"]["episodes"])
