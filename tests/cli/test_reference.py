"""docs/cli.md holds the help of every command, as it is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from pairmark.cli import exit_codes
from tests.cli.running import ENVIRONMENT


def test_the_reference_is_up_to_date(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(repository / "tools" / "cli_reference.py"), "--check"], capture_output=True, text=True, check=False,
        env={**ENVIRONMENT, "COLUMNS": "200", "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_exit_code_is_explained(repository: Path) -> None:
    page = (repository / "docs" / "cli.md").read_text(encoding="utf-8")
    table = page.partition("## Exit codes")[2].partition("\n## ")[0]
    explained = {
        int(code) for line in re.findall(r"^\| ([0-9, ]+) \|", table, re.MULTILINE) for code in line.split(",")
    }
    known = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert known == explained
