"""Nothing that may have been meant as a log file is left out without being counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairmark.importers.agentdojo.aside import ENDING, FOLDER, HIDDEN, LEVEL
from tests.importers.logs import put, read, record


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("bank/user_task_1/none/none.JSON", ENDING),
        ("bank/user_task_1/none/none.json.gz", ENDING),
        ("bank/.user_task_1/none/none.json", HIDDEN),
        ("bank/user_task_1/none/.none.json", HIDDEN),
        ("bank/user_task_1/none/deeper/none.json", LEVEL),
        ("bank/user_task_1/none.json", LEVEL),
        ("none.json", LEVEL),
        ("bank/user_task_1/none/none.json/readme", FOLDER),
    ],
)
def test_a_file_where_no_log_file_is_looked_for_is_counted(tmp_path: Path, place: str, kind: str) -> None:
    put(tmp_path, record("user_task_0"))
    put(tmp_path, b"{}", place)
    put(tmp_path, b"", "bank/user_task_0/none/notes.txt")
    found = read(tmp_path, "benign")
    assert found.episodes["task_id"].to_list() == ["user_task_0"]
    assert found.set_aside == {kind: 1}
