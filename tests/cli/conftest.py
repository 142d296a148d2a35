"""The command, and a certifiable pair on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pairmark.domain.world import World
from tests.cli.running import Here, write


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)


@pytest.fixture(scope="session")
def _written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    write(World(), folder)
    return folder


@pytest.fixture
def pair(_written: Path, tmp_path: Path) -> Path:
    """A folder with suite.json, benign/, attacked/ and baseline/ of a certifiable pair; to be damaged at will."""
    return Path(shutil.copytree(_written, tmp_path / "pair"))
