"""A task of ours through a mapping file: Inspect's real runs, compared with Inspect's own figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log
from inspect_ai.solver import generate

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.run import Run
from pairmark.domain.errors import Malformed
from pairmark.importers.inspect import IMPORTER
from tests.inspect.conftest import Suite
from tests.inspect.harness import MAPPING, SNAPSHOT, mailbox, obedient, robust, run, scripted


def accuracy(path: Path, name: str) -> Any:
    """What Inspect printed."""
    results = read_eval_log(str(path), header_only=True).results
    assert results is not None
    return next(score.metrics["accuracy"].value for score in results.scores if score.name == name)


def test_figures_are_inspects_own_with_attack_success_the_other_way_round(logs: dict[str, Path], mailbox_suite: Suite) -> None:
    benign = mailbox_suite.read([logs["benign"]], "benign")
    attacked = mailbox_suite.read([logs["attacked"]], "attacked", attack="mail")
    assert benign.episodes.height == 2 * 2
    assert attacked.episodes.height == 2 * 2 * 2
    assert benign.episodes["utility"].mean() == accuracy(logs["benign"], "done") == 1
    assert attacked.episodes["utility"].mean() == accuracy(logs["attacked"], "done")
    # the task's score counts defended samples: our attack success is what is left of it
    assert attacked.episodes["attack_success"].mean() == 1 - accuracy(logs["attacked"], "defended") == 1


def test_the_run_says_what_the_log_records_of_the_system(logs: dict[str, Path], mailbox_suite: Suite) -> None:
    run_ = mailbox_suite.read([logs["attacked"]], "attacked", attack="mail").run
    Run.model_validate_json(canonical_bytes(run_))
    system = run_["system"]
    assert system["model"] == {"requested": "scripted/model", "served": [SNAPSHOT], "provider": "scripted"}
    # temperature was set on the model, max_tokens on the evaluation; top_p was not sent
    assert system["decoding"] == {"temperature": 0.0, "top_p": None, "max_tokens": 100}
    assert system["limits"] == {}
    assert system["defenses"] is None
    assert system["scaffold"]["name"] == "inspect: system_message > use_tools > generate"
    assert run_["epochs"] == [{"epoch": 1, "seed": 7}, {"epoch": 2, "seed": 7}]
    assert run_["harness"]["name"] == "inspect_ai"
    assert run_["harness"]["version"].endswith("; task mailbox 0")
    assert run_["retries"] == {"max_attempts": 1}
    assert run_["started_at"] <= run_["finished_at"]


def test_both_arms_have_the_same_prompt_tools_and_scaffold(logs: dict[str, Path], mailbox_suite: Suite) -> None:
    arms = [mailbox_suite.read([logs["benign"]], "benign").run, mailbox_suite.read([logs["attacked"]], "attacked", attack="mail").run]
    for key in ("tools_digest", "system_prompt_digest", "scaffold", "decoding", "limits"):
        assert arms[0]["system"][key] == arms[1]["system"][key] is not None


def test_delivery_and_actions_are_seen_in_what_the_model_was_given(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path
) -> None:
    obeyed = mailbox_suite.read([logs["attacked"]], "attacked", attack="mail").episodes
    assert obeyed["delivered"].all()
    assert set(obeyed["attacker_actions"]) == {1}
    resisted = mailbox_suite.read([run(mailbox(True), scripted(robust), tmp_path)], "attacked", attack="mail").episodes
    assert resisted["delivered"].all()
    assert resisted["attack_success"].to_list() == [False] * 4
    assert resisted["attacker_actions"].to_list() == [None] * 4


def test_several_logs_are_set_apart_by_arm_and_one_folder_holds_both(logs: dict[str, Path], mailbox_suite: Suite) -> None:
    folder = logs["benign"].parent
    both = mailbox_suite.read([folder], "benign")
    assert both.episodes.equals(mailbox_suite.read([logs["benign"]], "benign").episodes)
    assert both.set_aside == {"samples of the other arm": 8}
    assert both.run == mailbox_suite.read([logs["benign"]], "benign").run


def test_reading_is_deterministic_and_a_json_log_says_what_its_archive_says(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path
) -> None:
    from inspect_ai.log import write_eval_log

    first = mailbox_suite.read([logs["attacked"]], "attacked", attack="mail")
    again = mailbox_suite.read([logs["attacked"]], "attacked", attack="mail")
    assert first.episodes.equals(again.episodes)
    assert first.run == again.run
    copy = tmp_path / "copy.json"
    write_eval_log(read_eval_log(str(logs["attacked"])), str(copy))
    from_json = mailbox_suite.read([copy], "attacked", attack="mail")
    assert from_json.episodes.equals(first.episodes)
    assert from_json.run == first.run


def test_a_task_that_nobody_explained_is_refused_with_the_way_out(logs: dict[str, Path], mailbox_suite: Suite) -> None:
    with pytest.raises(Malformed, match=r"unknown-task") as refusal:
        Suite(mailbox_suite.value).read([logs["benign"]], "benign")
    assert "--mapping" in str(refusal.value)
    other = Suite(mailbox_suite.value, {**MAPPING, "task": "another"})
    with pytest.raises(Malformed, match="other-task"):
        other.read([logs["benign"]], "benign")


def test_an_attack_without_a_name_is_asked_for(logs: dict[str, Path], mailbox_suite: Suite) -> None:
    with pytest.raises(Malformed, match="--attack"):
        mailbox_suite.read([logs["attacked"]], "attacked")
    with pytest.raises(Malformed, match="expected no attack in a benign arm"):
        mailbox_suite.read([logs["benign"]], "benign", attack="mail")


def test_an_attacked_arm_needs_a_mapping_that_knows_attack_success(logs: dict[str, Path], mailbox_suite: Suite) -> None:
    half = {key: value for key, value in MAPPING.items() if key != "attack_success"}
    with pytest.raises(Malformed, match="attack_success"):
        Suite(mailbox_suite.value, half).read([logs["attacked"]], "attacked", attack="mail")


def test_a_value_that_the_mapping_takes_for_neither_verdict_stays_unknown_and_is_told(
    logs: dict[str, Path], mailbox_suite: Suite
) -> None:
    narrow = {**MAPPING, "utility": {"scorer": "mail_scorer", "key": "done", "true": ["C"], "false": ["I"]}}
    found = Suite(mailbox_suite.value, narrow).read([logs["benign"]], "benign")
    assert found.episodes["utility"].null_count() == 4
    assert any("takes for neither verdict" in note for note in found.notes)


def test_what_a_system_file_says_may_not_contradict_the_log(logs: dict[str, Path], mailbox_suite: Suite) -> None:
    with pytest.raises(Malformed, match=r"contradiction"):
        mailbox_suite.read([logs["benign"]], "benign", system={"system": {"decoding": {"temperature": 1.0}}})
    given = mailbox_suite.read([logs["benign"]], "benign", system={"system": {"defenses": []}})
    assert given.run["system"]["defenses"] == []


def test_what_the_logs_leave_open_of_model_and_decoding_a_system_file_may_say_key_by_key(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path
) -> None:
    def system_of(log: Path, **given: Any) -> dict[str, Any]:
        found: dict[str, Any] = mailbox_suite.read([log], "benign", system={"system": given}).run["system"]
        return found

    told = system_of(logs["benign"], model={"provider": "scripted"}, decoding={"temperature": 0.0, "guard": "on"})
    assert told["model"] == {"requested": "scripted/model", "served": [SNAPSHOT], "provider": "scripted"}
    assert told["decoding"] == {"temperature": 0.0, "top_p": None, "max_tokens": 100, "guard": "on"}
    for part, key, value in (("model", "served", ["other"]), ("decoding", "top_p", 0.5), ("decoding", "max_tokens", None)):
        with pytest.raises(Malformed, match="contradiction") as refusal:
            system_of(logs["benign"], **{part: {key: value}})
        assert refusal.value.pointer == f"/system/{part}/{key}"
    # two values of one key among the calls: no single one is true
    differing = run(mailbox(False, solvers=[generate(temperature=0.5), generate(temperature=1.0)]), scripted(obedient), tmp_path)
    assert "temperature" not in system_of(differing)["decoding"]
    with pytest.raises(Malformed, match="calls differ in it"):
        system_of(differing, decoding={"temperature": 0.5})


def test_a_decoding_key_that_calls_did_not_send_is_known_and_not_filled_in(
    logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path
) -> None:
    def decoding_of(log: Path, **given: Any) -> dict[str, Any]:
        found: dict[str, Any] = mailbox_suite.read([log], "benign", system={"system": {"decoding": given}}).run["system"]["decoding"]
        return found

    penalised = run(mailbox(False), scripted(obedient, temperature=0.0, frequency_penalty=1.5), tmp_path)
    assert decoding_of(penalised, frequency_penalty=1.5, top_k=None)["frequency_penalty"] == 1.5
    assert decoding_of(logs["benign"], frequency_penalty=None, seed=7, guard=None)["guard"] is None
    # else the file of one arm would make the two arms alike
    for log, key, value, told in (
        (logs["benign"], "frequency_penalty", 1.5, "expected None"),
        (penalised, "frequency_penalty", None, "expected 1.5"),
        (penalised, "top_k", 3, "expected None"),
        (logs["benign"], "seed", 8, "expected the value of the calls"),
    ):
        with pytest.raises(Malformed, match=told) as refusal:
            decoding_of(log, **{key: value})
        assert (refusal.value.code, refusal.value.pointer) == ("contradiction", f"/system/decoding/{key}")


def test_a_decoding_key_in_which_some_calls_only_had_a_value_is_not_open(mailbox_suite: Suite, tmp_path: Path) -> None:
    differing = run(mailbox(False, solvers=[generate(seed=1, top_k=3), generate()]), scripted(obedient), tmp_path)
    for key, value in (("top_k", 3), ("top_k", None), ("seed", 1)):
        with pytest.raises(Malformed, match="calls differ in it"):
            mailbox_suite.read([differing], "benign", system={"system": {"decoding": {key: value}}})


def test_one_epoch_takes_the_number_that_is_given(mailbox_suite: Suite, logs: dict[str, Path], tmp_path: Path) -> None:
    log = run(mailbox(False), scripted(obedient), tmp_path)
    assert mailbox_suite.read([log], "benign", epoch=3).episodes["epoch"].unique().to_list() == [3]
    with pytest.raises(Malformed, match="expected logs of one epoch"):
        mailbox_suite.read([logs["benign"]], "benign", epoch=3)


def test_a_log_is_recognised_and_other_files_are_not(logs: dict[str, Path], tmp_path: Path) -> None:
    assert IMPORTER.recognises([logs["benign"]])
    assert IMPORTER.recognises([logs["benign"].parent])
    for name, content in {"run.json": b'{"schema": "pairmark/run/v1"}', "a.eval": b"PK\x03\x04", "b.txt": b"", "c.json": b"{"}.items():
        (tmp_path / name).write_bytes(content)
        assert not IMPORTER.recognises([tmp_path / name])
    assert not IMPORTER.recognises([tmp_path / "absent.eval"])
    assert not IMPORTER.recognises([])
