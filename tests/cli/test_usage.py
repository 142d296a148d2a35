"""Help, versions, wrong usage, and what a light command leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

import pairmark
from pairmark.cli.main import app
from tests.cli.running import ENVIRONMENT, Here, command, is_one_line

HEAVY = ("polars", "numpy", "scipy", "pandas", "pyarrow", "great_expectations", "fastapi", "sqlalchemy", "sqlmodel", "alembic", "httpx", "uvicorn", "rich", "agentdojo")  # fmt: skip


def commands() -> list[tuple[str, ...]]:
    """Every command and group, as words."""

    def below(group: typer.Typer, words: tuple[str, ...]) -> list[tuple[str, ...]]:
        found = [words]
        found += [(*words, each.name or "") for each in group.registered_commands]
        for each in group.registered_groups:
            assert each.typer_instance is not None
            found += below(each.typer_instance, (*words, str(each.name)))
        return found

    return below(app, ())


@pytest.mark.parametrize("words", commands(), ids=lambda words: " ".join(words) or "pairmark")
def test_every_command_has_help(here: Here, words: tuple[str, ...]) -> None:
    done = here(*words, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: {' '.join(('pairmark', *words))} ")
    assert here(*words, "-h") == done
    for line in done.out.partition("Commands:")[2].splitlines():
        assert not line.endswith("..."), "the summary in the list of commands is cut off"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["rules", "list"], ["check", "--help"], ["check"], ["serve", "--help"], ["demo", "-h"]],
)
def test_light_commands_import_nothing_heavy(arguments: list[str]) -> None:
    program = "import sys; from pairmark.cli.main import main; main(sys.argv[1:]); print([m for m in %r if m in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program % (HEAVY,), *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_version(here: Here) -> None:
    assert here("--version").out == f"pairmark {pairmark.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing command"),
        (["chekc"], "No such command 'chekc'"),
        (["check"], "Missing option '--suite'"),
        (["check", "--suite"], "--suite"),
        (["check", "--sweet", "x"], "No such option: --sweet"),
        (
            ["check", "--suite", "a", "--benign", "b", "--attacked", "c", "--format", "xml"],
            "'xml' is not one of 'text', 'json', 'github'",
        ),
        (["check", "--suite", "a", "--benign", "b", "--attacked", "c", "d"], "d"),
        (["suite"], "Missing command"),
        (["rules", "explain"], "Missing argument 'ID'"),
        (["import", "agentdojo", "--arm", "baseline"], "--arm"),
        (["import", "agentdojo", "x", "--suite", "s", "--arm", "benign", "-o", "o", "--epoch", "0"], "--epoch"),
        (["serve", "--port", "70000"], "--port"),
        (["serve", "--port", "http"], "--port"),
        (["history", "x", "--limit", "0"], "--limit"),
        (["check\x1b[31m"], "No such command"),
        (["check", "--\u202e"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(here: Here, arguments: list[str], says: str) -> None:
    done = here(*arguments)
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err), ascii(done.err)
    assert says in done.err
    assert done.err.endswith("--help shows the usage) [usage]\n")


def test_wrong_usage_in_a_process() -> None:
    done = command("check")
    assert (done.code, done.out) == (2, "")
    assert done.err == "pairmark check: Missing option '--suite'. (pairmark check --help shows the usage) [usage]\n"
