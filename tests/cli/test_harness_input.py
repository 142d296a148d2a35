"""`pairmark check` straight on a harness' files: as importing to bundles first, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from pairmark.domain.world import World
from pairmark.importers.registry import installed_importers
from tests.cli.running import Here, is_one_line
from tests.mapping.files import write

ROLES = ("benign", "attacked", "baseline")


def _straight(made: dict[str, Path]) -> list[str | Path]:
    options: list[str | Path] = ["--suite", made["suite"], "--mapping", made["mapping"]]
    for role in ROLES:
        options += [f"--{role}", made[role], "--system", f"{role}={made[f'{role}-system']}"]
    return options


def _bundles(here: Here, made: dict[str, Path], folder: Path) -> list[str | Path]:
    options: list[str | Path] = ["--suite", made["suite"]]
    for role in ROLES:
        arm = "benign" if role == "benign" else "attacked"
        done = here(
            "import", "generic", made[role], "--suite", made["suite"], "--arm", arm, "--mapping", made["mapping"],
            "--system", made[f"{role}-system"], "-o", folder / role,
        )  # fmt: skip
        assert (done.code, done.err) == (0, "")
        options += [f"--{role}", folder / role]
    return options


@pytest.mark.parametrize(
    ("world", "code"),
    [(World(), 0), (World().abort("attacked", pl.col("task_id") != "task_000"), 1), (World().set("attacked", utility=True).without_probe(), 3)],
    ids=["certified", "refused", "quarantined"],
)  # fmt: skip
def test_the_report_is_that_of_the_bundles(here: Here, tmp_path: Path, world: World, code: int) -> None:
    made = write(world, tmp_path)
    bundles = _bundles(here, made, tmp_path / "bundles")
    straight = here("check", *_straight(made), "--format", "json")
    assert (straight.code, straight.err) == (code, "")
    assert straight == here("check", *bundles, "--format", "json")


def test_text_and_tally_are_those_of_the_bundles(here: Here, tmp_path: Path) -> None:
    made = write(World().abort("attacked", pl.col("task_id") != "task_000"), tmp_path)
    bundles = _bundles(here, made, tmp_path / "bundles")
    assert here("check", *_straight(made)) == here("check", *bundles)
    assert here("tally", *_straight(made), "--format", "json") == here("tally", *bundles, "--format", "json")


def test_bundles_and_files_of_a_harness_mix(here: Here, tmp_path: Path) -> None:
    made = write(World().drop_cells("attacked", pl.col("task_id") == "task_003"), tmp_path)
    bundles = _bundles(here, made, tmp_path / "bundles")
    mixed = _straight(made)
    mixed[mixed.index(made["benign"])] = tmp_path / "bundles/benign"
    said = mixed.index(f"benign={made['benign-system']}")
    mixed[said - 1 : said + 1] = []
    assert here("check", *mixed, "--format", "json") == here("check", *bundles, "--format", "json")


@pytest.mark.parametrize("name", list(installed_importers()))
def test_every_reader_is_found_by_its_files_and_read_in_memory(here: Here, tmp_path: Path, name: str) -> None:
    importer = installed_importers()[name]
    example = importer.examples[0]
    for path, text in example.files.items():
        (tmp_path / "runs" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs" / path).write_text(text, encoding="utf-8")
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps(example.manifest), encoding="utf-8")
    attack = [] if example.attack is None else ["--attack", example.attack]
    done = here("import", name, tmp_path / "runs", "--suite", suite, "--arm", example.arm, *attack, "-o", tmp_path / "bundle")
    assert done.code == 0
    other = "attacked" if example.arm == "benign" else "benign"
    options = ("--suite", suite, f"--{other}", tmp_path / "bundle", "--format", "json")
    straight = here("check", *options, f"--{example.arm}", tmp_path / "runs", *attack)
    assert straight.code == 1
    assert straight == here("check", *options, f"--{example.arm}", tmp_path / "bundle")


def test_an_annotation_points_at_the_file_of_the_cell_and_at_the_system_file(here: Here, tmp_path: Path) -> None:
    made = write(World().abort("attacked", pl.col("task_id") != "task_000"), tmp_path)
    value = json.loads(made["benign-system"].read_bytes())
    value["system"]["decoding"]["temperature"] = 1
    made["benign-system"].write_text(json.dumps(value), encoding="utf-8")
    done = here("check", *_straight(made), "--format", "github")
    assert done.code == 1
    places = {
        title: line.partition("file=")[2].partition(",title=")[0]
        for line in done.out.splitlines()
        if line.startswith("::error") and (title := line.partition("pairmark%3A ")[2].partition(" failed")[0])
    }
    assert places["aborts-within-limits"] == str(made["attacked"])
    assert places["decoding-matches"] == str(made["benign-system"])


def test_a_file_that_could_not_be_read_is_annotated(here: Here, tmp_path: Path) -> None:
    example = next(each for each in installed_importers()["agentdojo"].examples if each.arm == "attacked")
    for path, text in example.files.items():
        (tmp_path / "runs" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs" / path).write_text(text[:50] if "injection_task_0.json" in path else text, encoding="utf-8")
    (tmp_path / "suite.json").write_text(json.dumps(example.manifest), encoding="utf-8")
    runs = tmp_path / "runs"
    done = here("check", "--suite", tmp_path / "suite.json", "--benign", runs, "--attacked", runs, "--format", "github")
    assert f"::warning file={runs / 'bank/user_task_0/important_instructions/injection_task_0.json'}," in done.out


def test_nothing_that_a_reader_knows(here: Here, pair: Path, tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "notes.txt").write_text("x", encoding="utf-8")
    done = here("check", "--suite", pair / "suite.json", "--benign", tmp_path / "else", "--attacked", pair / "attacked")
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)
    assert done.err.endswith("[not-recognised]\n")
    assert all(name in done.err for name in installed_importers())
    assert "pairmark import --help" in done.err
    assert len(done.err) < 500


def test_files_that_two_readers_recognise_want_a_name(here: Here, pair: Path, tmp_path: Path) -> None:
    both = tmp_path / "both"
    for name in ("agentdojo", "generic"):
        for path, text in installed_importers()[name].examples[0].files.items():
            (both / path).parent.mkdir(parents=True, exist_ok=True)
            (both / path).write_text(text, encoding="utf-8")
    options = ("--suite", pair / "suite.json", "--attacked", pair / "attacked", "--benign", both)
    done = here("check", *options)
    assert (done.code, done.err.rpartition(" ")[2]) == (2, "[several-readers]\n")
    assert "agentdojo, generic" in done.err
    named = here("check", *options, "--harness", "agentdojo")
    assert named.err.endswith("[no-episodes]\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--epoch", "x"], "expected --epoch to be a number"),
        (["--epoch", "0"], "expected --epoch to be a number"),
        (["--system", "a", "--system", "b"], "expected --system once"),
        (["--system", "attackd=a"], "benign=, attacked=, baseline= or neither, found 'attackd='"),
        (["--harness", "Benign=generic"], "write --harness benign="),
        (["--attack", "baselin=a"], "write --attack baseline="),
        (["--epoch", "atacked=2"], "write --epoch attacked="),
        (["--mapping", "benig=m.yaml"], "write --mapping benign="),
        (["--attack", "benign=a", "--attack", "benign=b"], "expected --attack once"),
        (["--mapping", "none.yaml"], "none.yaml"),
        (["--harness", "nobody"], "nobody"),
    ],
)
def test_wrong_options(here: Here, tmp_path: Path, options: list[str], says: str) -> None:
    made = write(World(), tmp_path)
    paths = [part for role in ROLES for part in (f"--{role}", made[role])]
    done = here("check", "--suite", made["suite"], *paths, *options)
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)
    assert says in done.err


def test_a_fault_in_a_mapping_is_at_its_line(here: Here, tmp_path: Path) -> None:
    made = write(World(), tmp_path)
    mapping = tmp_path / "m.yaml"
    mapping.write_text(
        "schema: pairmark/mapping/v1\nharness: {name: x}\ncolumns:\n  task_id: {column: t}\n  status: {column: s, otherwise: completed}\n"
        "  attack_success:\n    column: safe\n    true: [yes]\n    false: [no]\n",
        encoding="utf-8",
    )
    for command in (
        ["check", *_straight(made)[:2], "--benign", made["benign"], "--attacked", made["attacked"], "--mapping", mapping],
        ["import", "generic", made["benign"], "--suite", made["suite"], "--arm", "benign", "--mapping", mapping, "-o", tmp_path / "o"],
    ):  # fmt: skip
        done = here(*command)
        assert done.code == 2
        assert done.err.startswith(f"{mapping}:6 /columns/attack_success/polarity: expected this key")
    done = here("import", "agentdojo", made["benign"], "--suite", made["suite"], "--arm", "benign", "--mapping", mapping, "-o", tmp_path / "o")
    assert done.err.endswith("[usage]\n")


def test_the_cells_to_rerun_are_said_once(here: Here, tmp_path: Path) -> None:
    made = write(World().abort("attacked", pl.col("task_id") != "task_000"), tmp_path)
    out = " ".join(here("check", *_straight(made)).out.split())
    assert out.count("run the aborted cells again as next attempts") == 1
    assert out.count("task_001 × inj_01, epoch 1 as attempt 2") <= 1
    assert "150 of 150 cells" in out
