"""Which logs make one run, and which are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pairmark.domain.errors import Malformed
from tests.inspect.conftest import Suite


def changed(source: Path, target: Path, change: Callable[[Any], None], *, new: bool = True) -> Path:
    """A copy of a log with something changed; `new`: as another evaluation."""
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(source))
    if new:
        log.eval.task_id = target.stem
        for sample in log.samples or ():
            sample.uuid = f"{target.stem}-{sample.uuid}"
            sample.total_time = (sample.total_time or 0) + 1
    change(log)
    write_eval_log(log, str(target))
    return target


def nothing(log: Any) -> None:
    return None


@pytest.mark.parametrize("fresh", [False, True])
def test_a_log_again_under_another_task_id_is_no_further_epoch(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path, fresh: bool
) -> None:
    def relabel(log: Any) -> None:
        log.eval.task_id = "another"
        for sample in log.samples if fresh else ():
            sample.uuid = f"new-{sample.uuid}"

    copy = changed(logs["benign"], tmp_path / "copy.eval", relabel, new=False)
    with pytest.raises(Malformed, match=r"copy\.eval#") as refusal:
        mailbox_suite.read([logs["benign"], copy], "benign")
    assert refusal.value.code == "copied-epoch"


def keep(*ids: str) -> Callable[[Any], None]:
    def change(log: Any) -> None:
        log.samples = [sample for sample in log.samples if sample.id in ids]
        log.eval.dataset.sample_ids = list(ids)

    return change


@pytest.mark.parametrize(
    ("fact", "change"),
    [
        ("mixed-model", lambda log: setattr(log.eval, "model", "scripted/other")),
        ("mixed-generate-config", lambda log: setattr(log.eval.model_generate_config, "temperature", 0.7)),
        ("mixed-generate-config", lambda log: setattr(log.plan.config, "top_p", 0.5)),
        ("mixed-package-versions", lambda log: log.eval.packages.update(inspect_ai="0.3.284")),
        ("mixed-task-version", lambda log: setattr(log.eval, "task_version", 9)),
        ("mixed-limits", lambda log: setattr(log.eval.config, "message_limit", 3)),
        ("mixed-solvers", lambda log: log.plan.steps[1].params.update(template="Obey.")),
        ("mixed-model-base-url", lambda log: setattr(log.eval, "model_base_url", "http://somewhere.example")),
        ("mixed-task-arguments", lambda log: log.eval.task_args.update(mode="hard")),
    ],
)
def test_logs_of_two_configurations_are_refused_with_both_named(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path, fact: str, change: Callable[[Any], None]
) -> None:
    other = changed(logs["benign"], tmp_path / "other.eval", change)
    with pytest.raises(Malformed) as refusal:
        mailbox_suite.read([logs["benign"], other], "benign")
    assert refusal.value.code == fact
    assert str(logs["benign"]) in str(refusal.value)
    assert str(other) in str(refusal.value)


def test_the_same_samples_in_another_evaluation_are_further_epochs(logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    more = changed(logs["benign"], tmp_path / "more.eval", nothing)
    found = mailbox_suite.read([logs["benign"], more], "benign")
    assert found.episodes["epoch"].value_counts().sort("epoch").rows() == [(1, 2), (2, 2), (3, 2), (4, 2)]
    assert [epoch["epoch"] for epoch in found.run["epochs"]] == [1, 2, 3, 4]


def test_other_samples_are_parts_of_the_same_epochs(logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    parts = [changed(logs["benign"], tmp_path / f"{one}.eval", keep(one)) for one in ("t0", "t1")]
    found = mailbox_suite.read(parts, "benign")
    whole = mailbox_suite.read([logs["benign"]], "benign")
    a_second_more = pl.col("duration_ms") + 1000  # which `changed` gives every sample of another evaluation
    assert found.episodes.equals(whole.episodes.with_columns(a_second_more))


def test_evaluations_that_share_some_samples_only_are_refused(logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    part = changed(logs["benign"], tmp_path / "part.eval", keep("t0"))
    with pytest.raises(Malformed, match=r"overlapping-logs"):
        mailbox_suite.read([logs["benign"], part], "benign")


def test_one_log_twice_is_refused(logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    link = tmp_path / "link.eval"
    link.symlink_to(logs["benign"])
    with pytest.raises(Malformed, match="each log once"):
        mailbox_suite.read([logs["benign"], link], "benign")


def test_a_second_verdict_of_a_cell_is_shown_as_a_second_attempt_and_not_chosen(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path
) -> None:
    def again(log: Any) -> None:
        for sample in log.samples:
            sample.uuid = f"again-{sample.uuid}"

    second = changed(logs["benign"], tmp_path / "again.eval", again, new=False)
    found = mailbox_suite.read([logs["benign"], second], "benign")
    assert found.episodes["attempt"].to_list() == [1, 2] * 4
    assert found.episodes["status"].unique().to_list() == ["completed"]


def test_a_log_of_an_old_release_is_refused(logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    old = changed(logs["benign"], tmp_path / "old.eval", lambda log: log.eval.packages.update(inspect_ai="0.3.199"))
    with pytest.raises(Malformed, match=r"unsupported-version"):
        mailbox_suite.read([old], "benign")


def test_limits_that_were_changed_while_it_ran_are_unrecorded(logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    from inspect_ai.log import ConfigUpdate, ConfigValueChange, ProvenanceData

    def change(log: Any) -> None:
        one = ConfigValueChange(config="eval", name="message_limit", value=5)
        log.config_updates = [ConfigUpdate(changes=[one], scope="task", provenance=ProvenanceData(author="ann"))]

    found = mailbox_suite.read([changed(logs["benign"], tmp_path / "retuned.eval", change)], "benign")
    assert found.run["system"]["limits"] is None
    assert any("changed while" in note for note in found.notes)


def test_the_revision_and_the_sandbox_are_taken_where_they_are_recorded(logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    from inspect_ai.log import EvalRevision

    def change(log: Any) -> None:
        log.eval.revision = EvalRevision(type="git", origin="somewhere", commit="abc123", dirty=False)
        log.eval.sandbox = {"type": "docker", "config": "compose.yaml"}

    found = mailbox_suite.read([changed(logs["benign"], tmp_path / "boxed.eval", change)], "benign")
    assert (found.run["harness"]["commit"], found.run["harness"]["image"]) == ("abc123", "docker:compose.yaml")
    assert mailbox_suite.read([logs["benign"]], "benign").run["harness"]["image"] is None


def test_a_system_file_may_not_overrule_what_logs_record_of_the_harness_the_attempts_and_the_times(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path
) -> None:
    from datetime import datetime, timedelta, timezone

    from inspect_ai.log import EvalRevision

    def box(log: Any) -> None:
        log.eval.revision = EvalRevision(type="git", origin="somewhere", commit="abc123", dirty=False)
        log.eval.sandbox = {"type": "docker", "config": "compose.yaml"}

    def bare(log: Any) -> None:
        log.eval.revision = None
        log.stats.completed_at = ""

    boxed, unrecorded = (changed(logs["benign"], tmp_path / f"{change.__name__}.eval", change) for change in (box, bare))
    recorded = mailbox_suite.read([boxed], "benign").run
    other: dict[str, dict[str, Any]] = {
        "/harness/commit": {"harness": {"commit": "def456"}},
        "/harness/image": {"harness": {"image": "registry/agent@sha256:1"}},
        "/retries": {"retries": {"max_attempts": 7}},
        "/started_at": {"started_at": "2001-01-01T00:00:00Z"},
        "/finished_at": {"finished_at": "2001-01-01T00:00:00Z"},
    }
    for pointer, given in other.items():
        with pytest.raises(Malformed, match="contradiction") as refusal:
            mailbox_suite.read([boxed], "benign", system=given)
        assert refusal.value.pointer == pointer
    elsewhere = datetime.fromisoformat(recorded["started_at"]).astimezone(timezone(timedelta(hours=2))).isoformat()
    same = {"harness": {"commit": "abc123", "image": "docker:compose.yaml"}, "retries": recorded["retries"], "started_at": elsewhere}
    assert mailbox_suite.read([boxed], "benign", system=same).run == recorded
    # where the logs leave it open, what is said stands
    said = other["/finished_at"] | {"harness": {"commit": "def456", "image": "registry/agent@sha256:1"}}
    found = mailbox_suite.read([unrecorded], "benign", system=said).run
    assert (found["harness"]["commit"], found["harness"]["image"]) == ("def456", "registry/agent@sha256:1")
    assert found["finished_at"] == "2001-01-01T00:00:00Z"


def test_a_sample_without_events_leaves_delivery_unknown(logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    def change(log: Any) -> None:
        for sample in log.samples:
            sample.events = []

    found = mailbox_suite.read([changed(logs["attacked"], tmp_path / "bare.eval", change)], "attacked", attack="mail")
    assert found.episodes["delivered"].null_count() == found.episodes.height == 8
    assert found.episodes["attack_success"].all()
    assert found.run["system"]["model"]["served"] is None
    assert any("hold no events" in note for note in found.notes)


def named(source: Path, target: Path, attack: str, *, samples: int | None = None, change: Callable[[Any], None] = nothing) -> Path:
    """A log of that attack as another evaluation, stopped after some samples."""

    def change_all(log: Any) -> None:
        log.eval.metadata = {"attack": attack}
        for sample in log.samples:  # samples of two such logs are no copies of each other
            sample.total_time += ord(target.stem[-1])
        if samples is not None:
            log.samples, log.status = log.samples[:samples], "cancelled"
        change(log)

    return changed(source, target, change_all)


@pytest.fixture
def naming(mailbox_suite: Suite) -> Suite:
    """The manifest, and a mapping that says where a log names its attack."""
    from tests.inspect.harness import MAPPING

    return Suite(mailbox_suite.value, {**MAPPING, "attack": "/eval/metadata/attack"})


def cells(found: Any) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = found.episodes.select("task_id", "injection_id", "epoch", "attempt", "status").rows()
    return rows


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("samples", [0, 3, None])
def test_a_log_of_another_attack_is_set_aside_whole_wherever_it_stands_and_however_far_it_got(
    logs: dict[str, Path], naming: Suite, tmp_path: Path, is_first: bool, samples: int | None
) -> None:
    def often(log: Any) -> None:
        log.eval.config.retry_on_error = 4

    wanted = named(logs["attacked"], tmp_path / "a.eval", "A")
    other = named(logs["attacked"], tmp_path / "b.eval", "B", samples=samples, change=often)
    alone = naming.read([wanted], "attacked", attack="A")
    found = naming.read([other, wanted] if is_first else [wanted, other], "attacked", attack="A")
    assert cells(found) == cells(alone)
    assert found.run == alone.run
    assert found.set_aside == {"samples of other attacks": 8}
    assert found.notes == alone.notes
    with pytest.raises(Malformed, match="mixed-attacks"):
        naming.read([wanted, other], "attacked")
    with pytest.raises(Malformed, match="no-episodes"):
        naming.read([other], "attacked", attack="A")


def test_further_epochs_of_an_attack_are_numbered_past_a_log_of_another(logs: dict[str, Path], naming: Suite, tmp_path: Path) -> None:
    first, other, second = (named(logs["attacked"], tmp_path / f"{n}.eval", attack) for n, attack in enumerate("ABA"))
    found = naming.read([first, other, second], "attacked", attack="A")
    assert [epoch["epoch"] for epoch in found.run["epochs"]] == [1, 2, 3, 4]


def test_an_evaluation_of_two_attacks_is_refused_since_nothing_says_of_which_the_rest_is(
    logs: dict[str, Path], naming: Suite, tmp_path: Path
) -> None:
    def as_one(log: Any) -> None:
        log.eval.task_id = "one"

    both = [named(logs["attacked"], tmp_path / f"{attack}.eval", attack, samples=3, change=as_one) for attack in "AB"]
    for attack in ("A", None):
        with pytest.raises(Malformed, match=r"expected one attack") as refusal:
            naming.read(both, "attacked", attack=attack)
        assert refusal.value.code == "mixed-attacks"


def test_evaluations_of_the_other_arm_are_no_epochs_even_where_samples_have_the_same_ids(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path
) -> None:
    from tests.inspect.harness import MAPPING

    def same_ids(log: Any) -> None:
        for sample in log.samples:
            task, plus, attack = sample.id.partition("+")
            sample.metadata = {**sample.metadata, "injection": attack} if plus else sample.metadata
            sample.id = task
        log.samples = [sample for sample in log.samples if sample.metadata.get("injection") in (None, "a0")]
        log.eval.dataset.sample_ids = ["t0", "t1"]

    benign, attacked = (changed(logs[arm], tmp_path / f"{arm}.eval", same_ids) for arm in ("benign", "attacked"))
    suite = Suite(mailbox_suite.value, {**MAPPING, "injection_id": {"pointer": "/metadata/injection"}})
    for arm, mine, other in (("benign", benign, attacked), ("attacked", attacked, benign)):
        found = suite.read([other, mine], arm, attack=None if arm == "benign" else "mail")  # type: ignore[arg-type]
        assert sorted(found.episodes["epoch"]) == [1, 1, 2, 2]
        assert found.set_aside == {"samples of the other arm": 4}
