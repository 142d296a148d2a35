"""The command in this process, as in tests/cli."""

from tests.cli.conftest import here

__all__ = ["here"]
