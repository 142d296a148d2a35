"""A stranger's document in the folder, numbers of array libraries, a clock set back, two spellings of one id."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pairmark.domain.errors import Conflict, Malformed
from pairmark.record import Run, recording
from tests.record.making import SUITE, arm, benign, rows

BARE = {"name": SUITE["suite"], "digest": "sha256:" + "0" * 64}


def test_a_document_that_no_recording_wrote_is_named_and_costs_nothing(tmp_path: Path) -> None:
    run = benign(tmp_path)
    with run.episode("task_000") as episode:
        episode.utility = True
    (tmp_path / "run.json").write_bytes((tmp_path / "recording" / "run.json").read_bytes())
    with pytest.raises(Conflict, match="no recording wrote"):
        run.finish()
    with pytest.raises(Conflict, match="no recording wrote"):
        run.episode("task_001").__enter__()
    (tmp_path / "run.json").unlink()
    run.finish()
    assert len(rows(tmp_path)) == 1


def test_integers_of_array_libraries_are_integers_and_other_numbers_are_refused_in_words(tmp_path: Path) -> None:
    with benign(tmp_path / "a", epochs={np.int64(1): np.int32(7), 2: None}) as run:
        with run.episode("task_000", epoch=np.int64(2)) as episode:  # type: ignore[arg-type]
            episode.utility = True
        for odd in (1.0, "1", None):
            with pytest.raises(Malformed, match="usage"):
                run.episode("task_001", epoch=odd)  # type: ignore[arg-type]
        with pytest.raises(Malformed, match="unknown-cell"):
            run.episode("task_001", epoch=True)
    assert [row["epoch"] for row in rows(tmp_path / "a")] == [2]
    with pytest.raises(Malformed, match="usage"):
        benign(tmp_path / "b", epochs=1.5)


def test_a_clock_that_is_set_back_ends_no_run_before_it_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = benign(tmp_path)
    monkeypatch.setattr(recording, "now", lambda: "2001-01-01T00:00:00.000+00:00")
    with run.episode("task_000") as episode:
        episode.utility = True
    run.finish()
    value = json.loads((tmp_path / "run.json").read_bytes())
    assert value["finished_at"] == value["started_at"]
    assert arm(tmp_path).ledger.height == 1


def test_two_takers_of_a_run_may_not_spell_one_id_in_two_ways(tmp_path: Path) -> None:
    ours, theirs = benign(tmp_path, suite=BARE), Run.join(tmp_path)
    late = theirs.episode("cafe\u0301")  # before the other spelling is known
    with ours.episode("caf\u00e9") as episode:
        episode.utility = True
    with pytest.raises(Malformed, match="id-collision"):
        late.__enter__()
    with pytest.raises(Malformed, match="id-collision"):
        theirs.episode("cafe\u0301")
    theirs.close()
    ours.finish()
    assert [row["task_id"] for row in rows(tmp_path)] == ["caf\u00e9"]
