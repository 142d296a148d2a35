"""A log for each test, on each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import forget
from tests.log.filling import LoggingService


@pytest.fixture
def log(kind: str, tmp_path: Path) -> Iterator[LoggingService]:
    made = LoggingService.at(tmp_path / "data")
    yield made
    made.database.close()
    forget(tmp_path)
