"""docs/comparing.md, planning.md and history.md: their commands exist, and their numbers come out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from pairmark.cli.main import app
from tests.cli.running import Here

PAGES = ("comparing", "planning", "history")


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)


def page(repository: Path, name: str) -> str:
    return (repository / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_commands_exist_with_their_options(repository: Path, name: str) -> None:
    found = re.findall(r"^ {4}(pairmark .*)$", page(repository, name), re.MULTILINE)
    assert found
    for line in found:
        words = shlex.split(line.split("   ")[0])[1:]
        command = typer.main.get_command(app)
        while isinstance(command, TyperGroup):
            command = command.commands[words.pop(0)]
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("-") and not word.startswith("-…")} <= options, line


def test_the_planning_page_is_what_the_command_says(repository: Path, here: Here) -> None:
    text = page(repository, "planning")
    command, _, shown = text.partition("    pairmark plan ")[2].partition("\n\n")
    done = here("plan", *shlex.split(command))
    assert done.code == 0, done.err
    said = {line.strip() for line in done.out.splitlines()}
    lines = [line.strip() for line in shown.partition("\n\n")[0].splitlines()]
    assert len(lines) == 6
    assert set(lines) <= said


def test_the_planning_pages_table_of_factors(repository: Path) -> None:
    from pairmark.app.plan_evaluation import plan_evaluation
    from pairmark.domain.documents.evaluation_plan import ComponentsAsked, PlanRequest

    spread = ComponentsAsked(task=0.15, injection=0.005, interaction=0.02, attacked_rerun=0.07)
    found = plan_evaluation(PlanRequest(tasks=97, injections=10, survival=0.55, components=spread), None, None)
    text = page(repository, "planning")
    assert found.design_half_width == "0.090651"
    assert "± 9.07 points" in text
    by_factor = {one.factor: one for one in found.halving}
    for label, factor, needs in (
        ("seeds", "attacked_epochs", None), ("injections", "injections", None), ("tasks", "tasks", "47"),
        ("tasks and injections", "tasks+injections", "3.9"),
    ):  # fmt: skip
        one = by_factor[factor]  # type: ignore[index]
        assert one.half_width_at_four_times is not None
        row = next(line for line in text.splitlines() if line.strip().startswith(f"| {label} |"))
        assert f"± {float(one.half_width_at_four_times) * 100:.2f}" in row
        assert (one.times is None) == (needs is None)
        assert needs is None or (needs in row and float(one.times or 0) == pytest.approx(float(needs), abs=0.12))


def test_the_diff_command_of_the_comparing_page(repository: Path, here: Here) -> None:
    manifests = repository / "manifests" / "suites"
    for suite in ("banking", "slack", "travel", "workspace"):
        done = here("suite", "diff", manifests / f"agentdojo-{suite}-v1.1.2.json", manifests / f"agentdojo-{suite}-v1.2.2.json")
        assert done.code == 0
        row = next(line for line in page(repository, "comparing").splitlines() if line.startswith(f"| {suite} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert f"{cells[3]} surviving, {cells[4]} changed, {cells[5]} added" in done.out


def test_the_comparing_page_lists_every_code_of_a_refusal(repository: Path) -> None:
    text = page(repository, "comparing")
    source = (repository / "service" / "pairmark" / "app" / "comparison").rglob("*.py")
    codes = {code for path in source for code in re.findall(r'NotComparable\(\s*"([a-z-]+)"', path.read_text(encoding="utf-8"))}
    assert len(codes) == 5
    assert {code for code in codes if f"`{code}`" not in text} == set()
