"""`pairmark suite`: show, diff and export. Registering is in test_service.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.adapters.ledgers.documents import read_suite
from pairmark.domain.plan import Plan
from pairmark.resources import data_folder
from tests.cli.running import Here, is_one_line

SUITES = data_folder("manifests") / "suites"
BANKING = SUITES / "agentdojo-banking-v1.2.2.json"


@pytest.mark.parametrize("file", sorted(SUITES.glob("*.json")), ids=lambda path: path.stem)
def test_show(here: Here, file: Path) -> None:
    loaded = read_suite(file)
    plan = Plan(loaded.manifest)
    done = here("suite", "show", file)
    assert done.code == 0
    assert done.out.startswith(f"{loaded.manifest.suite} {loaded.manifest.version}  {loaded.digest}\n")
    assert any(
        line.split() == ["in", "all", str(plan.tasks), str(len(plan.injection_ids)), str(plan.cells)]
        for line in done.out.splitlines()
    )
    cells = here("suite", "show", file, "--cells").out.splitlines()
    assert len(cells) == len(set(cells)) == plan.cells
    assert json.loads(here("suite", "show", file, "--format", "json").out) == loaded.value


def test_show_says_what_the_probes_found(here: Here, tmp_path: Path) -> None:
    shown = here("suite", "show", BANKING).out.splitlines()
    assert "  utility of an agent that does nothing: 31.25 % (5/16)" in shown
    assert (
        "  planned attacked cells that can show an injection: 100.00 % (144/144); of tasks 100.00 % (16/16), of pairs of task and place 25.00 % (16/64)"
        in shown
    )
    bare = json.loads(BANKING.read_text(encoding="utf-8"))
    del bare["probes"]["canary"]
    (tmp_path / "suite.json").write_text(json.dumps(bare), encoding="utf-8")
    older = here("suite", "show", tmp_path / "suite.json")
    assert older.code == 0
    assert "  planned attacked cells that can show an injection: none recorded" in older.out.splitlines()


def test_diff(here: Here) -> None:
    older = SUITES / "agentdojo-banking-v1.1.2.json"
    found = json.loads(here("suite", "diff", older, BANKING, "--format", "json").out)
    shown = here("suite", "diff", older, BANKING)
    assert shown.code == 0
    cells = found["attacked_cells"]
    assert (
        f"attacked cells: {cells['surviving']} surviving, {cells['changed']} changed, {cells['added']} added, {cells['removed']} removed"
        in shown.out
    )
    assert "user_task_6 (checker)" in shown.out
    same = here("suite", "diff", BANKING, BANKING)
    assert "note: the digests are equal" in same.out


def test_export_from_runs(here: Here, tmp_path: Path) -> None:
    record: dict[str, object] = {"suite_name": "office", "pipeline_name": "p", "user_task_id": "user_task_0", "injection_task_id": None, "attack_type": None,
              "injections": {}, "messages": [{"role": "user", "content": [{"type": "text", "content": "Do it"}]}], "error": None, "utility": True,
              "security": True, "duration": 1.0, "benchmark_version": "v1", "agentdojo_package_version": "0.1.35", "evaluation_timestamp": "2026-01-01"}  # fmt: skip
    benign = tmp_path / "p/office/user_task_0/none/none.json"
    attacked = tmp_path / "p/office/user_task_0/direct/injection_task_0.json"
    for path, changed in (
        (benign, {}),
        (attacked, {"injection_task_id": "injection_task_0", "attack_type": "direct", "injections": {"v": "Send all"}}),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**record, **changed}), encoding="utf-8")
    arguments: list[str | Path] = [
        "suite",
        "export",
        "agentdojo-runs",
        tmp_path / "p",
        "--name",
        "my/office",
        "-o",
        tmp_path / "suite.json",
    ]
    done = here(*arguments)
    assert (done.code, done.err) == (0, "")
    loaded = read_suite(tmp_path / "suite.json")
    assert done.out == f"wrote {tmp_path / 'suite.json'}: my/office {loaded.manifest.version} {loaded.digest}\n"
    assert (loaded.manifest.suite, len(loaded.manifest.tasks), len(loaded.manifest.injections)) == ("my/office", 1, 1)
    again = here(*arguments)
    assert again.code == 2
    assert again.err.endswith("[exists]\n")


def test_export_from_the_package(here: Here, tmp_path: Path) -> None:
    pytest.importorskip("agentdojo", reason="the extra `agentdojo` is not installed")
    arguments: list[str | Path] = [
        "suite",
        "export",
        "agentdojo",
        "--benchmark-version",
        "v1.2.2",
        "--suite",
        "banking",
        "--no-probe",
        "-o",
        tmp_path / "banking.json",
    ]
    assert here(*arguments).code == 0
    assert read_suite(tmp_path / "banking.json").digest == read_suite(BANKING).digest
    unknown = here(*arguments[:4], "v9", *arguments[5:-1], tmp_path / "other.json")
    assert unknown.code == 2
    assert is_one_line(unknown.err)


def test_no_such_suite(here: Here, tmp_path: Path) -> None:
    for name in (str(tmp_path / "none.json"), str(tmp_path), ""):
        done = here("suite", "show", name)
        assert (done.code, done.out) == (2, "")
        assert is_one_line(done.err)
