"""A filled service: one for tests that leave it as it is, and a copy for each that changes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.access.filled import Filled, fill, opened


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Filled]:
    folder = tmp_path_factory.mktemp("access") / "data"
    return folder, fill(folder)


@pytest.fixture(scope="session")
def filled(made: tuple[Path, Filled]) -> Filled:
    """Not to be written to."""
    return made[1]


@pytest.fixture
def fresh(made: tuple[Path, Filled], tmp_path: Path) -> Filled:
    """A copy of it that a test may change."""
    folder, there = made
    there.service.app.state.services.database.close()
    copied = shutil.copytree(folder, tmp_path / "data")
    return Filled(opened(copied), dict(there.tokens), dict(there.ids))
