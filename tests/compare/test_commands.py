"""`pairmark compare`, `plan`, `aggregate` and `history` as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from pairmark.domain.documents.comparison import Comparison, ComparisonSet
from pairmark.domain.documents.evaluation_plan import EvaluationPlan
from pairmark.domain.world import World
from tests.cli.running import Here, is_one_line, write
from tests.compare.suites import digest
from tests.compare.test_over_http import AGGREGATE


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs in folders: defended, bare, another model's, over a changed suite, and one that is refused."""
    top = tmp_path_factory.mktemp("pairs")
    changed = World().undefended().edit_suite("/tasks/0/checker", digest("stricter")).edit_suite("/version", "v2")
    worlds = {
        "defended": World(), "bare": World().undefended(), "other": World().undefended().swap_model("all"), "changed": changed,
        "refused": World().edit_run("attacked", "/system/decoding/temperature", 0.5),
    }  # fmt: skip
    for name, world in worlds.items():
        write(world, top / name)
    return top


def test_two_folders_are_judged_and_compared(here: Here, folders: Path) -> None:
    done = here("compare", folders / "defended", folders / "bare")
    assert done.code == 0, done.err
    for needed in (
        "150 attacked cells of 20 tasks, weighting task", "differs in system.defenses", "56.70  42.68  -14.02  -17.18 to -10.86",
        "A higher", "tied", "21 done by A only, 0 by B only, 64 by both, 65 by neither", "A only: task_000 × inj_02, epoch 1",
        "a defense causes delivery itself",
    ):  # fmt: skip
        assert needed in done.out, needed
    answer = here("compare", folders / "defended", folders / "bare", "--format", "json")
    assert Comparison.model_validate_json(answer.out).changes.utility_drop is not None


def test_several_folders_are_adjusted_together(here: Here, folders: Path) -> None:
    done = here("compare", folders / "defended", folders / "bare", folders / "other")
    assert done.code == 0
    assert done.out.count("p (Holm)") == 2
    answer = here("compare", folders / "defended", folders / "bare", folders / "other", "--format", "json")
    assert len(ComparisonSet.model_validate_json(answer.out).comparisons) == 2


def test_two_suites_exit_1_with_what_differs_and_what_compares(here: Here, folders: Path) -> None:
    done = here("compare", folders / "bare", folders / "changed")
    assert done.code == 1
    assert "differs in suite.digest" in done.out
    assert "nearest comparable set: 142 common cells, of 150 in A (95.00 % of its weight) and 150 in B (95.00 %)" in done.out
    assert is_one_line(done.err)
    assert done.err.endswith("[different-mix]\n")
    as_json = here("compare", folders / "bare", folders / "changed", "--format", "json")
    assert (as_json.code, as_json.out) == (1, "")
    reweighted = here("compare", folders / "bare", folders / "changed", "--reweight", "common")
    assert reweighted.code == 0
    assert "on the common mix" in reweighted.out
    assert "within the cells, and by another mix of cells" in reweighted.out


@pytest.mark.parametrize(
    ("arguments", "code", "ending"),
    [
        (["bare", "refused"], 1, "[not-certified]\n"),
        (["bare", "nowhere"], 2, "[usage]\n"),
        (["bare", "bare", "--policy", "nothing/1"], 2, "]\n"),
    ],
)
def test_what_is_refused(here: Here, folders: Path, arguments: list[str], code: int, ending: str) -> None:
    given = [folders / one if (folders / one).exists() else one for one in arguments]
    done = here("compare", *given)
    assert (done.code, done.out) == (code, "")
    assert is_one_line(done.err)
    assert done.err.endswith(ending)


def test_a_damaged_folder_is_one_line(here: Here, folders: Path, tmp_path: Path) -> None:
    write(World(), tmp_path)
    (tmp_path / "attacked" / "episodes.jsonl").write_bytes(b"{}\n")
    done = here("compare", folders / "bare", tmp_path)
    assert done.code == 2
    assert is_one_line(done.err)


# plans


def test_a_plan_is_made_offline_from_rates_and_from_a_manifest(here: Here, folders: Path) -> None:
    done = here("plan", "--suite", folders / "bare" / "suite.json", "--clean-rate", "0.8", "--survival", "0.5", "--price", "0.01:0.02", "--seconds", "3")
    assert done.code == 0, done.err
    assert "plan for 20 tasks, 15 injections, 150 attacked cells" in done.out
    assert "as planned: 320 episodes, 1600 to 4800 model calls" in done.out
    assert "cost: 16.0 to 96.0" in done.out
    answer = here("plan", "--tasks", "200", "--clean-rate", "0.71", "--survival", "0.55", "--format", "json")
    assert EvaluationPlan.model_validate_json(answer.out).clean_tasks == 142


@pytest.mark.parametrize(
    ("arguments", "ending"),
    [
        (["--tasks", "200", "--clean-rate", "71", "--survival", "0.55"], "[invalid-value]\n"),
        (["--tasks", "200", "--survival", "nan"], "[invalid-value]\n"),
        (["--tasks", "200"], "[plan-needs-more]\n"),
        (["--survival", "0.5"], "[plan-needs-more]\n"),
        (["--tasks", "200", "--survival", "0.5", "--calls", "many"], "[usage]\n"),
        (["--tasks", "200", "--survival", "0.5", "--calls", "9:3"], "[invalid-value]\n"),
        (["--tasks", "200", "--survival", "0.5", "--difference", "0.4", "--discordance", "0.1"], "[invalid-value]\n"),
        (["--tasks", "two hundred", "--survival", "0.5"], "[usage]\n"),
    ],
)
def test_impossible_plans(here: Here, arguments: list[str], ending: str) -> None:
    done = here("plan", *arguments)
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)
    assert done.err.endswith(ending), done.err


# aggregates and history, on an embedded database


def test_aggregates_become_a_history_in_one_command(here: Here, tmp_path: Path) -> None:
    strata = tmp_path / "strata.csv"
    strata.write_text(
        "model,defense,benign_planned,benign_usable,benign_utility_k,attacked_planned,attacked_usable,attacked_utility_k,attack_success_k\n"
        "m,no_defense,17,13,12,120,86,59,16\nm,filter,17,17,1,120,117,7,0\n"
    )
    data = tmp_path / "data"
    done = here("aggregate", "import", "strata", strata, "--suite", "a/paper", "--data", data)
    assert done.code == 0, done.err
    assert "2 kept as uncertifiable, 2 of them new" in done.out
    assert "2 kept as uncertifiable, 0 of them new" in here("aggregate", "import", "strata", strata, "--suite", "a/paper", "--data", data).out
    (tmp_path / "one.json").write_text(json.dumps({**AGGREGATE, "suite": {"name": "a/paper", "digest": None}}))
    assert here("aggregate", "submit", tmp_path / "one.json", "--data", data).code == 0
    plain = here("history", "a/paper", "--data", data)
    assert "no certificate fits" in plain.out
    assert "left out: 3 uncertifiable (--include incomparable lists them)" in plain.out
    listed = here("history", "a/paper", "--include", "incomparable", "--bound", "utility_under_attack>=0.01", "--data", data)
    assert listed.out.count("uncertifiable: ") == 2
    target = tmp_path / "t.parquet"
    assert here("history", "a/paper", "--include", "incomparable", "--format", "parquet", "-o", target, "--data", data).code == 0
    assert pl.read_parquet(target)["left_out"].to_list() == ["uncertifiable"] * 3
    again = here("history", "a/paper", "--format", "csv", "-o", target, "--data", data)
    assert again.code == 2
    assert again.err.endswith("[exists]\n")


def test_documents_are_written_instead(here: Here, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Agent Name,Attack Tool,Attack Successful,Original Task Successful\na,t,0,1\n")
    done = here("aggregate", "import", "asb", tmp_path / "a.csv", tmp_path / "a.csv", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    written = json.loads((tmp_path / "out" / "0001.json").read_bytes())
    assert written["clusters"] == {"count": 1, "unit": "agents"}


def test_a_bad_aggregate_is_one_line_with_its_place(here: Here, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps({**AGGREGATE, "name": 7}))
    done = here("aggregate", "submit", tmp_path / "one.json", "--data", tmp_path / "data")
    assert done.code == 2
    assert is_one_line(done.err)
    assert "/name" in done.err
    missing = here("aggregate", "submit", tmp_path / "two.json", "--data", tmp_path / "data")
    assert missing.code != 0
    assert is_one_line(missing.err)
