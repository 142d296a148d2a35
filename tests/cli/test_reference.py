"""docs/cli.md holds the help of every command, as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pairmark.cli import exit_codes
from pairmark.verify import result
from tests.cli.running import ENVIRONMENT, Here


def test_the_reference_is_up_to_date(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(repository / "tools" / "cli_reference.py"), "--check"], capture_output=True, text=True, check=False,
        env={**ENVIRONMENT, "COLUMNS": "200", "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_exit_code_is_explained_in_the_same_words_everywhere(repository: Path, here: Here) -> None:
    known = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert known == set(exit_codes.MEANINGS)
    for page in ("README.md", "docs/cli.md"):
        assert exit_codes.page_table() in (repository / page).read_text(encoding="utf-8"), page
    assert exit_codes.sentence() in " ".join(here("--help").out.split())
    unchecked = exit_codes.MEANINGS[exit_codes.UNKNOWN]
    assert f"6 {unchecked}." in " ".join(here("verify", "--help").out.split())
    assert f"| 6 | {unchecked}" in (repository / "docs" / "verifying.md").read_text(encoding="utf-8")


def test_verifying_exits_with_the_codes_that_are_explained() -> None:
    said = (result.VALID, result.INVALID, result.REVOKED, result.SUPERSEDED, result.UNKNOWN)
    assert said == (exit_codes.CERTIFIED, exit_codes.REFUSED, exit_codes.REVOKED, exit_codes.SUPERSEDED, exit_codes.UNKNOWN)
