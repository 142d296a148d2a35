"""The service's report is the offline check's, byte for byte, whatever is wrong with the pair."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.adapters.ledgers.bundle import read_bundle, read_policy, read_suite
from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.app.check import check
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.evidence import Arm, Experiment, Role
from pairmark.domain.world import World
from tests.databases import POSTGRESQL_SLOW
from tests.service.serving import Service

pytestmark = POSTGRESQL_SLOW

Fault = Callable[[World], World]
FAULTS: dict[str, Fault] = {
    "none": lambda world: world,
    "swap the model": lambda world: world.swap_model("attacked"),
    "another temperature": lambda world: world.edit_run("attacked", "/system/decoding/temperature", 0.25),
    "decoding unrecorded": lambda world: world.drop_key("pair", "/system/decoding/top_p"),
    "swap the arms": lambda world: world.swap_arms(),
    "no probe": lambda world: world.without_probe(),
    "no baseline": lambda world: world.without_baseline(),
    "undefended": lambda world: world.undefended(),
    "attacked as baseline": lambda world: world.as_baseline("attacked"),
    "missing cells": lambda world: world.drop_cells("attacked", 7),
    "aborted cells": lambda world: world.abort("attacked", 9),
    "one aborted cell": lambda world: world.abort("attacked", 1),
    "repeated cell": lambda world: world.repeat("benign", 1, utility=False),
    "another attempt": lambda world: world.repeat("attacked", 1, attempt=2),
    "unknown outcomes": lambda world: world.set("attacked", 3, utility=None),
    "nothing delivered": lambda world: world.set("baseline", delivered=False, attacker_actions=0, attack_success=False),
    "no drop": lambda world: world.set("pair", utility=True),
    "nothing works": lambda world: world.set("pair", utility=False),
    "odd ids": lambda world: world.repeat("attacked", 1, task_id="naïve \U0001f600 \u2028 task"),
    "empty ledger": lambda world: world.drop_cells("attacked"),
    "two epochs": lambda world: world.epochs(2),
    "another weighting": lambda world: world.edit_suite("/weighting", "cell"),
    "negative duration is none": lambda world: world.set("benign", 2, duration_ms=None),
    "blocked": lambda world: world.set("attacked", 12, status="provider_block", utility=False, attack_success=None),
    "content differs": lambda world: world.set("attacked", 2, task_digest="sha256:" + "9" * 64),
    "transcripts unrecorded": lambda world: world.set("all", transcript_digest=pl.lit(None, dtype=pl.String)),
}


def offline(world: World, folder: Path, policy: str) -> bytes:
    """What `check` says of the same files."""
    for name, content in world.files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    suite, chosen = read_suite(folder / "suite.json"), read_policy(policy)

    def arm(role: Role) -> Arm:
        return read_bundle(folder / role, role)

    experiment = Experiment(
        suite.manifest, suite.digest, arm("benign"), arm("attacked"), arm("baseline") if "baseline" in world.sides else None
    )
    return check(experiment, chosen.policy, chosen.digest, great_expectations_gate()).content


@pytest.fixture(scope="module")
def judging(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """One service that all pairs are handed to."""
    return Service.at(tmp_path_factory.mktemp("judging"))


@pytest.mark.parametrize("fault", FAULTS)
def test_each_single_fault(judging: Service, fault: str, tmp_path: Path) -> None:
    same(judging, FAULTS[fault](World()), tmp_path, "standard/1")


@settings(max_examples=6)
@given(
    faults=st.lists(st.sampled_from(sorted(FAULTS)), min_size=2, max_size=4, unique=True),
    policy=st.sampled_from(["standard/1", "transcript/1"]),
)
def test_any_faults_together(
    judging: Service, tmp_path_factory: pytest.TempPathFactory, faults: list[str], policy: str
) -> None:
    world = World()
    for fault in faults:
        try:
            world = FAULTS[fault](world)
        except KeyError:  # an arm that an earlier fault took away
            continue
    same(judging, world, tmp_path_factory.mktemp("pair"), policy)


def same(service: Service, world: World, folder: Path, policy: str) -> None:
    # A label of its own, registered last: of several manifests with one content, the newest is what a verdict rests on.
    labelled = world.edit_suite("/version", f"{policy} in {folder.name}")
    answer = service.certify(service.submit(labelled), policy)
    assert answer.status_code in (200, 201), answer.text
    expected = offline(labelled, folder / "files", policy)
    assert canonical_bytes(answer.json()["report"]) == expected
    assert b'"report":' + expected in answer.content
    stored = service.get(f"/v1/certifications/{answer.json()['id']}")
    assert b'"report":' + expected in stored.content
