"""What is given in the wrong place or of the wrong kind is refused in words that fit it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.domain.world import World
from pairmark.importers.agentdojo.examples import EXAMPLES as AGENTDOJO
from pairmark.importers.asb.examples import EXAMPLES
from pairmark.importers.asb.examples import MANIFEST as ASB
from tests.cli.running import Done, Here, is_one_line
from tests.mapping.files import write


def _refused(done: Done, code: str, *says: str) -> None:
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)
    assert done.err.endswith(f"[{code}]\n")
    for each in says:
        assert each in done.err


@pytest.mark.parametrize("name", ["system", "harness", "attack", "epoch", "mapping"])
def test_what_is_said_beside_bundles_is_refused_and_not_ignored(here: Here, pair: Path, name: str) -> None:
    arms = ("--suite", pair / "suite.json", "--benign", pair / "benign", "--attacked", pair / "attacked")
    _refused(here("check", *arms, f"--{name}", "1"), "usage", "every arm is a bundle, which carries its")
    _refused(here("tally", *arms, f"--{name}", "attacked=1"), "usage", "the attacked arm is a bundle")
    _refused(here("check", *arms, f"--{name}", "attackd=1"), "usage", "benign=, attacked=, baseline=")
    _refused(here("check", *arms, f"--{name}", "baseline=1"), "usage", "found no --baseline")


def test_a_folder_with_several_tables_names_them(here: Here, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(EXAMPLES[0].files["clean.csv"], encoding="utf-8", newline="")
    _refused(here("doctor", tmp_path), "several-files", "'a.csv', 'b.csv'")
    _refused(here("doctor", tmp_path / "a.csv", tmp_path / "b.csv"), "several-files", "'a.csv', 'b.csv'", "one run at a time")


def test_a_document_in_the_place_of_a_run_says_where_it_belongs(here: Here, tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(ASB), encoding="utf-8")
    _refused(here("doctor", tmp_path / "suite.json"), "not-recognised", "pairmark/suite/v1", "--suite")


def test_an_unfinished_recording_is_called_so(here: Here, pair: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "recording").mkdir(parents=True)
    (tmp_path / "run" / "recording" / "journal.jsonl").write_text("", encoding="utf-8")
    done = here("check", "--suite", pair / "suite.json", "--benign", tmp_path / "run", "--attacked", pair / "attacked")
    _refused(done, "unfinished-recording", "resume it", "seal it")


def test_a_file_of_anything_says_what_is_taken(here: Here, pair: Path, tmp_path: Path) -> None:
    (tmp_path / "passwd").write_text("root:x:0:0\n", encoding="utf-8")
    (tmp_path / "x.tar.gz").write_text("root:x:0:0\n", encoding="utf-8")
    arms = ("--suite", pair / "suite.json", "--attacked", pair / "attacked", "--benign")
    _refused(here("check", *arms, tmp_path / "passwd"), "not-recognised", "expected a run bundle or the files of a harness")
    _refused(here("check", *arms, tmp_path / "x.tar.gz"), "bad-compression", "expected a run bundle (a directory or a .tar.gz of one)")


def test_a_contradiction_names_the_system_file(here: Here, tmp_path: Path) -> None:
    made = write(World(), tmp_path)
    beside = json.loads(made["attacked-system"].read_bytes())
    beside["epochs"] = [{"epoch": 7, "seed": None}]
    made["attacked-system"].write_text(json.dumps(beside), encoding="utf-8")
    done = here(
        "import", "generic", made["attacked"], "--suite", made["suite"], "--arm", "attacked", "--mapping", made["mapping"],
        "--system", made["attacked-system"], "-o", tmp_path / "out",
    )  # fmt: skip
    _refused(done, "contradiction")
    assert done.err.startswith(f"{made['attacked-system']} /epochs: ")


def test_a_plan_is_refused_in_the_words_of_the_options(here: Here) -> None:
    _refused(here("plan", "--tasks", "40", "--injections", "5"), "plan-needs-more", "give --survival")
    done = here("plan", "--tasks", "40", "--injections", "5", "--clean-rate", "0.5", "--survival", "3")
    _refused(done, "invalid-value", "plan --help")
    assert done.err.startswith("--survival: ")


def test_files_of_other_suites_are_named_beside_those_that_are_planned(here: Here, tmp_path: Path) -> None:
    example = next(each for each in AGENTDOJO if each.arm == "attacked")
    for path, text in example.files.items():
        moved = tmp_path / "runs" / "pipeline" / "elsewhere" / Path(*Path(path).parts[-3:])
        moved.parent.mkdir(parents=True, exist_ok=True)
        moved.write_text(text, encoding="utf-8")
    (tmp_path / "suite.json").write_text(json.dumps(example.manifest), encoding="utf-8")
    done = here("import", "agentdojo", tmp_path / "runs" / "pipeline", "--suite", tmp_path / "suite.json", "--arm", "attacked", "-o", tmp_path / "o")
    _refused(done, "no-episodes", "that the manifest plans (", "found 'elsewhere'")


def test_many_cells_to_run_again_are_cut_in_prose_and_counted() -> None:
    from pairmark.cli.text_report import _few

    names = [f"t × i{number}, epoch 1 as attempt 2 (attacked)" for number in range(20)]
    assert _few(": " + ", ".join(names) + " and 30 more").endswith("i4, epoch 1 as attempt 2 (attacked) and 45 more")
    assert _few(": " + ", ".join(names)).endswith(" and 15 more")
    assert _few(": " + ", ".join(names[:5])) == ": " + ", ".join(names[:5])


def test_numbers_are_explained_as_a_range(here: Here, tmp_path: Path) -> None:
    made = write(World(), tmp_path)
    rows = [json.loads(line) for line in made["attacked"].read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({**row, "seconds": 1.5 + number % 12}) for number, row in enumerate(rows)]
    made["attacked"].write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = here(
        "import", "generic", made["attacked"], "--suite", made["suite"], "--arm", "attacked", "--mapping", made["mapping"], "--explain"
    )
    assert "      1.5 to 12.5, 12 values\n" in done.out
