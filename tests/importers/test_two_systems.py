"""Arms of two pipelines are refused where the logs say so in every name, and by nothing less."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from pairmark.app.one_system import refuse_two_systems
from pairmark.domain.errors import Malformed
from pairmark.importers.base import Imported
from tests.importers.logs import manifest, put, read, record


def arm(folder: Path, pipeline: str, *, attacked: bool) -> Imported:
    put(folder, record("user_task_0", "injection_task_0" if attacked else None, pipeline_name=pipeline))
    return read([folder], value=manifest({"bank": (1, 1)}), arm="attacked" if attacked else "benign")


def test_two_pipelines_are_no_pair(tmp_path: Path) -> None:
    benign, attacked = arm(tmp_path / "a", "a", attacked=False), arm(tmp_path / "b", "b", attacked=True)
    with pytest.raises(Malformed, match="found that of 'a' benign and that of 'b' attacked") as refused:
        refuse_two_systems(benign, attacked)
    assert refused.value.code == "two-systems"
    assert refused.value.remedy


@pytest.mark.parametrize(("folder", "pipeline"), [("a", "b"), ("b", "a"), ("a", "a")])
def test_one_name_in_common_is_enough(tmp_path: Path, folder: str, pipeline: str) -> None:
    """Forks write the undefended name, and people rename folders."""
    refuse_two_systems(arm(tmp_path / "clean" / "a", "a", attacked=False), arm(tmp_path / folder, pipeline, attacked=True))


def test_a_harness_without_names_says_nothing() -> None:
    nameless = Imported({}, pl.DataFrame())
    refuse_two_systems(nameless, nameless)
