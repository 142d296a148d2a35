"""One filled service for tests that leave it as it is."""

from __future__ import annotations

import pytest

from tests.access.filled import Filled, fill


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    return fill(tmp_path_factory.mktemp("access"))
