"""Inspect runs that several tests read, made once; and the manifest that they show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.importers.base import ArmName, Imported
from pairmark.importers.inspect import IMPORTER
from tests.inspect.quiet import quiet

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")


@dataclass(frozen=True)
class Suite:
    """A manifest and how logs are read for it."""

    value: dict[str, Any]
    mapping: dict[str, Any] | None = None

    def read(self, paths: list[Path], arm: ArmName, **options: Any) -> Imported:
        importer = IMPORTER if self.mapping is None else IMPORTER.with_mapping(self.mapping)
        manifest = SuiteManifest.model_validate_json(canonical_bytes(self.value))
        return importer.read(paths, suite=manifest, suite_digest=suite_digest(self.value), arm=arm, **options)


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():
        yield


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The mailbox task, benign and attacked, two epochs, by an agent that obeys whoever asks."""
    from tests.inspect.harness import mailbox, obedient, run, scripted

    folder = tmp_path_factory.mktemp("logs")
    return {
        arm: run(mailbox(arm == "attacked"), scripted(obedient, temperature=0.0), folder, epochs=2, seed=7, max_tokens=100)
        for arm in ("benign", "attacked")
    }


@pytest.fixture(scope="session")
def mailbox_suite(logs: dict[str, Path]) -> Suite:
    """What the two logs show of the suite."""
    from pairmark.adapters.inspect import export_from_logs
    from tests.inspect.harness import MAPPING

    return Suite(export_from_logs(list(logs.values()), "ours/mailbox", MAPPING), MAPPING)
