"""A service for each test, and one filled once for tests that only read."""

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
def service(tmp_path: Path) -> Service:
    return Service.at(tmp_path / "data")


@pytest.fixture(scope="session")
def world() -> World:
    """A small certifiable world."""
    return World()


@pytest.fixture(scope="session")
def filled(kind: str, tmp_path_factory: pytest.TempPathFactory, world: World) -> tuple[Service, dict[str, str]]:
    """A service with one certified pair, and the ids of its runs by role; not to be written to."""
    service = Service.at(tmp_path_factory.mktemp("filled"))
    ids = service.submit(world)
    answer = service.certify(ids)
    assert answer.status_code == 201
    return service, ids
