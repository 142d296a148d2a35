"""`pairmark demo`: three pairs, three verdicts, and everything left where it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Done, Here, command


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The demo, as a person runs it, and where."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, command("demo", "--data", "here", cwd=folder)


def test_it_tells_the_story(shown: tuple[Path, Done]) -> None:
    _, done = shown
    assert (done.code, done.err) == (0, "")
    assert "a scripted agent made them, not a model" in done.out
    for step in range(1, 7):
        assert f"[{step}/6] " in done.out
    for verdict in ("CERTIFIED", "REFUSED", "QUARANTINED"):
        assert f"\n{verdict}: " in done.out
    for told in (
        "✗ FAILED          cells-complete",
        "✗ FAILED          aborts-within-limits",
        "⏸ HELD            sign-plausible",
        "What to do: ",
        "95 % interval",
        "the same report, byte for byte",
    ):
        assert told in done.out
    assert "\x1b" not in done.out


def test_everything_is_where_it_says(shown: tuple[Path, Done]) -> None:
    folder, done = shown
    home = folder / "here" / "demo"
    names = {"suite.json", "benign", "attacked", "baseline", "report.json", "refused.json", "quarantined.json"}
    assert names <= {path.name for path in home.iterdir()}
    for name in ("pairmark.db", "objects", *(f"demo/{name}" for name in names)):
        assert (folder / "here" / name).exists()
        assert str(Path("here") / name) in done.out
    for file, verdict in (("report", "certified"), ("refused", "refused"), ("quarantined", "quarantined")):
        report = json.loads((home / f"{file}.json").read_bytes())
        assert report["verdict"] == verdict
        assert (report["metrics"] is not None) == (verdict == "certified")


def test_the_command_it_suggests_gives_its_report(
    shown: tuple[Path, Done], here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, done = shown
    monkeypatch.chdir(folder)
    suggested = next(line for line in done.out.splitlines() if line.startswith("  pairmark check "))
    checked = here(*suggested.split()[1:], "--format", "json")
    assert checked.code == 0
    assert checked.out.encode() == (folder / "here/demo/report.json").read_bytes()


def test_again(shown: tuple[Path, Done], here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, first = shown
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in (folder / "here/demo").rglob("*") if path.is_file()}
    again = here("demo", "--data", "here")
    assert again.code == 0
    assert "(registered already)" in again.out
    assert "sealed already" in again.out
    assert {path: path.read_bytes() for path in (folder / "here/demo").rglob("*") if path.is_file()} == before
    assert [line for line in again.out.splitlines() if "certificate-" in line] == [
        line for line in first.out.splitlines() if "certificate-" in line
    ]


def test_another_verdict_than_told_is_no_success(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: Here) -> None:
    from dataclasses import replace

    from pairmark.cli import demo

    certified, refused, quarantined = demo.STORIES
    monkeypatch.setattr(demo, "STORIES", (certified, replace(refused, verdict="quarantined"), quarantined))
    done = here("demo", "--data", tmp_path)
    assert done.code == 70
    assert "expected the refused pair to be quarantined, found refused" in done.out
