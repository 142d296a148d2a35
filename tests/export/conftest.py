"""The command, in this process."""

from __future__ import annotations

import pytest

from tests.cli.running import Here


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)
