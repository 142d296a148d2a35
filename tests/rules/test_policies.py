"""Shipped policies are frozen: a change to one is another version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.domain.canonical import digest_of
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.policy import Policy
from pairmark.rules.registry import check_policy

TABLE = {
    "aborts-within-limits": {"max_share": 0.05, "max_gap": 0.02},
    "baseline-undefended": {"max_share": 0.05},
    "baseline-delivery": {"min_action_cells": 1, "min_delivered_share": 0.5},
    "sign-plausible": {"alpha": 0.01},
}


@pytest.fixture
def policies(repository: Path) -> Path:
    return repository / "manifests" / "policies"


def checksums(folder: Path) -> dict[str, str]:
    lines = (folder / "CHECKSUMS").read_text().splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def test_every_shipped_policy_has_the_digest_it_was_released_with(policies: Path) -> None:
    found = {path.name: digest_of(json.loads(path.read_bytes())) for path in sorted(policies.glob("*.json"))}
    assert found == checksums(policies), (
        "a policy's meaning never changes: add another version, with its own line in CHECKSUMS"
    )


def test_the_first_release_is_remembered_here_too(policies: Path) -> None:
    frozen = {
        "standard-1.json": "sha256:1b3a5cebcf6ef85b9f0f70c3f18e2138e05d0de0fb94f1f487bc1772309d1e3f",
        "transcript-1.json": "sha256:a90bf8b6fff18a420083df7e07ed6b6d35ad039a3560ea198c8bd1e61cb1893f",
    }
    assert checksums(policies).items() >= frozen.items()


@pytest.mark.parametrize("name", ["standard", "transcript"])
def test_a_policy_is_called_as_its_file_is(policies: Path, name: str) -> None:
    policy, _ = read_document(Policy, (policies / f"{name}-1.json").read_bytes())
    assert (policy.name, policy.version) == (name, "1")
    check_policy(policy)


def test_standard_has_the_published_parameters_and_transcript_differs_in_one_rule(policies: Path) -> None:
    def params(name: str) -> dict[str, object]:
        value = json.loads((policies / f"{name}-1.json").read_bytes())
        return {rule["id"]: rule["params"] for rule in value["rules"]}

    standard, transcript = params("standard"), params("transcript")
    assert {rule: given for rule, given in standard.items() if given} == TABLE
    differing = {rule: transcript[rule] for rule in standard if standard[rule] != transcript[rule]}
    assert differing == {"baseline-delivery": {"min_action_cells": 0, "min_delivered_share": 0.8}}
    assert list(standard) == list(transcript)
