"""Services that queue everything, on both kinds of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pairmark.domain.world import World
from tests.databases import forget
from tests.service.serving import Service


@pytest.fixture(autouse=True)
def _both(kind: str, tmp_path: Path) -> Iterator[None]:
    """Every test of this folder runs on both kinds of database."""
    yield
    forget(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of the service and of its workers."""
    return tmp_path / "data"


@pytest.fixture
def service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service that queues every certification and works none off itself."""
    made = Service.at(folder, wait_episodes=10)
    monkeypatch.setattr(made.app.state.worker, "wake", lambda: None)
    return made


@pytest.fixture(scope="session")
def world() -> World:
    """A small certifiable world."""
    return World()
