"""Suites and policies from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.ledgers.bundle import read_policy, read_suite
from pairmark.adapters.ledgers.documents import shipped_policies
from pairmark.adapters.ledgers.limits import Limits
from pairmark.domain.canonical import digest_of, suite_digest
from pairmark.domain.errors import Malformed
from tests.ledgers.making import digest


def suite(**changes: Any) -> dict[str, Any]:
    item = {"id": "t", "digest": digest("t"), "checker": digest("c"), "group": "g"}
    return {
        "schema": "pairmark/suite/v1", "suite": "s", "version": "1", "environment": {"digest": digest("e"), "clock": None}, "tools": [],
        "tasks": [item], "injections": [item | {"id": "i"}], "grid": "full", "epochs": 1, "weighting": "task",
    } | changes  # fmt: skip


def test_a_suite_is_read_with_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(suite(description="left out of the digest")))
    loaded = read_suite(path)
    assert loaded.digest == suite_digest(suite())
    assert loaded.value == suite(description="left out of the digest")
    assert loaded.manifest.tasks[0].id == "t"


def test_a_bad_suite_is_named(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(suite(epochs=0), indent=1))
    with pytest.raises(Malformed) as caught:
        read_suite(path)
    assert (caught.value.file, caught.value.pointer) == (str(path), "/epochs")
    assert caught.value.line is not None
    with pytest.raises(Malformed, match="unreadable"):
        read_suite(tmp_path / "nowhere.json")
    with pytest.raises(Malformed, match="unreadable"):
        read_suite(tmp_path)
    with pytest.raises(Malformed, match="`document`"):
        read_suite(path, limits=Limits(document=10))


def test_shipped_policies_are_read_by_name() -> None:
    assert {"standard/1", "transcript/1"} <= set(shipped_policies())
    for name, path in shipped_policies().items():
        loaded = read_policy(name)
        assert f"{loaded.policy.name}/{loaded.policy.version}" == name
        assert loaded.digest == digest_of(json.loads(path.read_text()))
        assert read_policy(path).digest == loaded.digest


def test_an_unknown_policy_says_what_there_is() -> None:
    for name in ("standard/2", "standard-1", "../standard/1", ""):
        with pytest.raises(Malformed) as caught:
            read_policy(name)
        assert caught.value.code in ("unknown-policy", "unreadable")
        assert "standard/1" in caught.value.message


def test_a_policy_with_an_unknown_rule_or_parameter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    value = json.loads(shipped_policies()["standard/1"].read_text())
    for rule, code in [
        ({"id": "cells-complete", "version": 99, "params": {}}, "unknown-rule"),
        ({"id": "no-such-rule", "version": 1, "params": {}}, "unknown-rule"),
        ({"id": "cells-complete", "version": 1, "params": {"x": 1}}, "invalid-params"),
    ]:
        path.write_text(json.dumps(value | {"rules": [rule]}))
        with pytest.raises(Malformed) as caught:
            read_policy(path)
        assert (caught.value.code, caught.value.file) == (code, str(path))
        assert (caught.value.pointer or "").startswith("/rules/0")
