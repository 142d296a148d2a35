"""The gate on the reference cases: what has to be certified holds every expectation."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from pairmark.adapters.ledgers.bundle import read_bundle
from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.domain.evidence import Role

ROLES: tuple[Role, ...] = ("benign", "attacked", "baseline")


@pytest.fixture(scope="module")
def cases(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    with tarfile.open(shared / "cases" / "cases.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder


def test_every_arm_of_a_certified_case_holds(cases: Path) -> None:
    gate = great_expectations_gate()
    judged = 0
    for case in sorted(cases.iterdir()):
        if json.loads((case / "expected.json").read_bytes()).get("verdict") != "certified":
            continue
        for role in ROLES:
            if (case / role).is_dir():
                result = gate(read_bundle(case / role, role))
                assert result.success, f"{case.name}, {role}: {[e.code for e in result.expectations if not e.success]}"
                judged += 1
    assert judged > 20


def test_a_line_written_twice_is_named(cases: Path) -> None:
    result = great_expectations_gate()(read_bundle(cases / "duplicate-cell" / "attacked", "attacked"))
    broken = [each for each in result.expectations if not each.success]
    assert [(each.code, each.unexpected) for each in broken] == [("line-once", 2)]
