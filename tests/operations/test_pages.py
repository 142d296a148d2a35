"""docs/limits.md and docs/operations.md say what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from pairmark.adapters.ledgers.limits import Limits
from pairmark.http.settings import Settings


def test_the_generated_parts_are_up_to_date(repository: Path) -> None:
    tool = repository / "tools" / "operations_pages.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def number(text: str) -> float:
    """What an amount with a unit says."""
    figures, _, unit = text.partition(" ")
    return float(figures.replace(",", "")) * {"GiB": 1024**3, "MiB": 1024**2, "KiB": 1024}.get(unit, 1)


def test_every_number_is_the_codes_own(repository: Path) -> None:
    """Read back without the tool that wrote it."""
    page = (repository / "docs" / "limits.md").read_text(encoding="utf-8")
    fixed = re.findall(r"^\| `([a-z_/0-9]+)` \| `(\w+)` \| ([^|]+) \|", page, re.MULTILINE)
    assert len(fixed) > 40
    for module, name, said in fixed:
        assert number(said) == getattr(import_module("pairmark." + module.replace("/", ".")), name), (module, name)
    settings = re.findall(r"^\| `PAIRMARK_(\w+)` \| ([^|]+) \|", page, re.MULTILINE)
    assert len(settings) > 12
    for name, said in settings:
        assert number(said.removesuffix(" a minute")) == getattr(Settings(), name.lower()), name
    limits = re.findall(r"^\| `([a-z]+)` \| ([^|]+) \|", page, re.MULTILINE)
    assert {name for name, _ in limits} == set(Limits.__dataclass_fields__)
    for name, said in limits:
        assert number(said) == getattr(Limits(), name), name


def test_numbers_that_operators_watch_are_the_ones_there_are(repository: Path) -> None:
    text = (repository / "docs" / "operations.md").read_text(encoding="utf-8")
    source = (repository / "service" / "pairmark" / "adapters" / "telemetry" / "numbers.py").read_text(encoding="utf-8")
    named = {name.removesuffix("_total") for name in re.findall(r"`(pairmark_[a-z_]+)`", text)}
    assert named == set(re.findall(r'"(pairmark_[a-z_]+)"', source))
