"""The commands that ask a service, against a real one on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pairmark.cli.demo_service import running_service
from pairmark.domain.world import World
from tests.cli.running import Here, is_one_line, write


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_service(tmp_path_factory.mktemp("service")) as url:
        yield url


def _submit(here: Here, url: str, world: World, folder: Path) -> dict[str, str]:
    """Register and submit a world; the ids of its runs by role."""
    write(world, folder)
    assert here("suite", "register", folder / "suite.json", "--service", url).code == 0
    ids: dict[str, str] = {}
    for role in world.sides:
        done = here("submit", folder / role, "--service", url)
        assert (done.code, done.err) == (0, "")
        ids[role] = done.out.split()[0]
    return ids


def _pair(ids: dict[str, str]) -> list[str]:
    return [part for role, run in ids.items() for part in (f"--{role}", run)]


def test_register_submit_certify_read_back(here: Here, url: str, tmp_path: Path) -> None:
    ids = _submit(here, url, World(), tmp_path)
    certified = here("certify", *_pair(ids), "--service", url, "--format", "json")
    answer = json.loads(certified.out)
    assert (certified.code, certified.err) == (0, "")
    assert answer["certificate"] is not None
    offline = here("check", *write(World(), tmp_path / "again"), "--format", "json")
    assert json.loads(offline.out) == answer["report"]
    text = here("certify", *_pair(ids), "--service", url)
    assert text.code == 0
    assert f"certificate    {answer['certificate']}" in text.out
    assert text.out.splitlines()[-1].startswith("CERTIFIED: ")
    suite = World().suite_manifest()
    listed = here("history", f"{suite['suite']}@{suite['version']}", "--service", url)
    assert listed.code == 0
    assert f"..{answer['certificate'][-5:]}" in listed.out
    page = json.loads(
        here(
            "history",
            answer["report"]["suite"]["digest"],
            "--service",
            url,
            "--format",
            "json",
            "--bound",
            "utility_drop>=0",
        ).out
    )
    assert [item["certificate"] for item in page["items"]] == [answer["certificate"]]
    empty = here("history", suite["suite"], "--service", url, "--bound", "utility_drop<=-0.5", "--defense", "none")
    assert "no certificate fits" in empty.out


def test_doing_it_again_changes_nothing(here: Here, url: str, tmp_path: Path) -> None:
    first = _submit(here, url, World(), tmp_path)
    assert _submit(here, url, World(), tmp_path) == first
    again = here("submit", tmp_path / "benign", "--service", url)
    assert " sealed already " in again.out
    registered = here("suite", "register", tmp_path / "suite.json", "--service", url)
    assert registered.out.startswith("registered already: ")


def test_verdicts_are_exit_codes(here: Here, url: str, tmp_path: Path) -> None:
    refused = _submit(here, url, World().drop_cells("attacked", pl.col("task_id") == "task_003"), tmp_path / "refused")
    assert here("certify", *_pair(refused), "--service", url).code == 1
    github = here("certify", *_pair(refused), "--service", url, "--format", "github")
    assert github.code == 1
    assert github.out.startswith("::error ")


def test_announce_and_seal(here: Here, url: str, tmp_path: Path) -> None:
    world = World().edit_run("benign", "/harness/commit", "an announced run")
    write(world, tmp_path)
    assert here("suite", "register", tmp_path / "suite.json", "--service", url).code == 0
    planned = tmp_path / "planned"
    planned.mkdir()
    run = world.run("benign")
    run["system"]["model"]["served"] = None
    (planned / "run.json").write_text(json.dumps({**run, "episodes": None, "finished_at": None}), encoding="utf-8")
    done = here("submit", planned, "--announce", "--service", url)
    assert (done.code, done.err) == (0, "")
    run_id, state = done.out.split()[:2]
    assert state == "announced"
    assert here("submit", planned, "--announce", "--service", url).out.split()[0] == run_id
    sealed = here("submit", tmp_path / "benign", "--run", run_id, "--service", url)
    assert sealed.code == 0
    assert sealed.out.split()[:2] == [run_id, "sealed"]
    changed = World().edit_run("benign", "/harness/commit", "another run than announced")
    write(changed, tmp_path / "changed")
    refused = here("submit", tmp_path / "changed" / "benign", "--run", run_id, "--service", url)
    assert refused.code == 1
    assert is_one_line(refused.err)


def test_a_label_with_other_content_is_refused(here: Here, url: str, tmp_path: Path) -> None:
    _submit(here, url, World(), tmp_path)
    suite = {**World().suite_manifest(), "epochs": 2}
    (tmp_path / "other.json").write_text(json.dumps(suite), encoding="utf-8")
    done = here("suite", "register", tmp_path / "other.json", "--service", url)
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("[suite-label-taken]\n")


def test_a_registered_suite_is_shown_by_digest(here: Here, url: str, tmp_path: Path) -> None:
    _submit(here, url, World(), tmp_path)
    digest = here("suite", "register", tmp_path / "suite.json", "--service", url).out.split()[-1]
    assert here("suite", "show", digest, "--service", url) == here("suite", "show", tmp_path / "suite.json")
    assert here("suite", "diff", digest, tmp_path / "suite.json", "--service", url).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["certify", "--benign", "run-0", "--attacked", "run-1"],
        ["certify", "--benign", "../x", "--attacked", "\u202e"],
        ["suite", "show", "sha256:" + "0" * 64],
        ["suite", "show", "sha256:x"],
        ["history", "no/such-suite"],
        ["history", "sha256:" + "0" * 64],
        ["history", "x", "--since", "yesterday"],
        ["history", "x", "--bound", "utility_drop=1"],
        ["history", "x", "--bound", "happiness>=1"],
        ["history", "x", "--cursor", "nonsense"],
        ["submit", "no-such-bundle"],
        ["submit", "no-such-bundle", "--announce", "--run", "run-1"],
    ],
)
def test_what_the_service_or_the_command_refuses(here: Here, url: str, arguments: list[str]) -> None:
    done = here(*arguments, "--service", url)
    assert (done.code, done.out) == (2, ""), done.err
    assert is_one_line(done.err), ascii(done.err)


def test_bundles_are_refused_here_before_anything_is_sent(here: Here, url: str, tmp_path: Path) -> None:
    write(World(), tmp_path)
    ledger = tmp_path / "benign/episodes.jsonl"
    ledger.write_bytes(ledger.read_bytes().partition(b"\n")[2])
    done = here("submit", tmp_path / "benign", "--service", "http://127.0.0.1:9")
    assert done.code == 2
    assert done.err.endswith("[digest-mismatch]\n")
    results = here("submit", tmp_path / "attacked", "--announce", "--service", url)
    assert results.code == 2
    assert results.err.endswith("[has-results]\n")
    (tmp_path / "attacked/episodes.jsonl").unlink()
    assert here("submit", tmp_path / "attacked", "--service", url).err.endswith("[not-sealed]\n")


@pytest.mark.parametrize(
    ("service", "code"),
    [("http://127.0.0.1:9", 69), ("not a url", 2), ("ftp://127.0.0.1", 2), ("http://127.0.0.1:1:2", 2)],
)
def test_no_service(here: Here, monkeypatch: pytest.MonkeyPatch, service: str, code: int) -> None:
    monkeypatch.setattr("pairmark.client.steps.FIRST_PAUSE_SECONDS", 0.001)
    done = here("certify", "--benign", "a", "--attacked", "b", "--service", service)
    assert (done.code, done.out) == (code, ""), done.err
    assert is_one_line(done.err)


def test_the_environment_names_the_service(here: Here, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRMARK_SERVICE", url)
    assert here("suite", "show", "sha256:" + "0" * 64).code == 2


def test_db(here: Here, tmp_path: Path) -> None:
    assert here("db", "check", "--data", tmp_path).code in (1, 69)
    upgraded = here("db", "upgrade", "--data", tmp_path)
    assert upgraded.code == 0
    assert "upgraded from nothing to revision " in upgraded.out
    assert " already" in here("db", "upgrade", "--data", tmp_path).out
    assert here("db", "check", "--data", tmp_path).code == 0
    assert here("db", "upgrade", "--database", "nonsense").code == 2
