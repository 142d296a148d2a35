"""Home-made harnesses: the same rows in any format give one ledger, and nothing is guessed about what they say."""

from __future__ import annotations

import copy
import gzip
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from pairmark.domain.canonical import suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from pairmark.domain.world import World
from pairmark.importers.base import Imported
from pairmark.importers.generic import IMPORTER
from pairmark.importers.generic.examples import MANIFEST
from tests.mapping.files import MAPPING, row

BASE: dict[str, Any] = {
    "schema": "pairmark/mapping/v1",
    "harness": {"name": "mine"},
    "attack": {"constant": "a"},
    "columns": {
        "task_id": {"column": "task"},
        "injection_id": {"column": "inj"},
        "status": {"column": "end", "completed": ["ok"], "infra_error": ["dead"]},
        "utility": {"column": "ok", "true": [True, 1], "false": [False, 0]},
    },
}
ROW = {"task": "t0", "inj": "i0", "end": "ok", "ok": True}


def mapping(**columns: Any) -> dict[str, Any]:
    """The small mapping, with other columns; `None` takes one out."""
    found = copy.deepcopy(BASE)
    for name, value in columns.items():
        if value is None:
            del found["columns"][name]
        else:
            found["columns"][name] = value
    return found


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in rows).encode()


def read(folder: Path, content: bytes, told: dict[str, Any], *, name: str = "log.jsonl", arm: Any = "attacked", **more: Any) -> Imported:
    path = folder / name
    path.write_bytes(content)
    manifest, value = read_document(SuiteManifest, json.dumps(MANIFEST).encode())
    return IMPORTER.with_mapping(told).read([path], suite=manifest, suite_digest=suite_digest(value), arm=arm, **more)


def refused(folder: Path, content: bytes, told: dict[str, Any], **more: Any) -> Malformed:
    with pytest.raises(Malformed) as found:
        read(folder, content, told, **more)
    assert str(found.value).isprintable()
    assert found.value.remedy
    return found.value


def test_every_format_and_packing_gives_one_ledger(tmp_path: Path) -> None:
    files = World().abort("attacked", 3).files()
    rows = [row(json.loads(line), "m") for line in files["attacked/episodes.jsonl"].splitlines()]
    flat = [{**{f"cell_{key}": each["cell"][key] for key in ("goal", "planted")}, **{k: v for k, v in each.items() if k not in ("cell", "ignored")}} for each in rows]
    text = copy.deepcopy(MAPPING)
    text["columns"] |= {"task_id": {"column": "cell_goal"}, "injection_id": {"column": "cell_planted"}}
    in_csv = copy.deepcopy(text)
    in_csv["columns"]["utility"] |= {"true": ["1.0"], "false": ["0.0"]}
    in_csv["columns"]["delivered"] |= {"true": [True], "false": [False]}
    in_csv["columns"]["error"]["none"] = [""]
    for name in ("task_digest", "transcript_digest"):
        del in_csv["columns"][name]
    frame = pl.DataFrame(flat)
    packed, table = io.StringIO(), io.BytesIO()
    frame.write_csv(packed)
    frame.write_parquet(table)
    plain = lines(*rows)
    expected = read(tmp_path, plain, MAPPING).episodes
    assert expected.height == 150
    assert expected["status"].value_counts().height == 2
    assert read(tmp_path, gzip.compress(plain[:900]) + gzip.compress(plain[900:]), MAPPING, name="a.jsonl.gz").episodes.equals(expected)
    assert read(tmp_path, zstandard.compress(plain), MAPPING, name="a.jsonl.zst").episodes.equals(expected)
    assert read(tmp_path, plain.rstrip(b"\n").replace(b"\n", b"\r\n\r\n"), MAPPING, name="b.jsonl").episodes.equals(expected)
    assert read(tmp_path, b"\xef\xbb\xbf" + plain, MAPPING, name="bom.jsonl").episodes.equals(expected)
    assert read(tmp_path, table.getvalue(), text, name="a.parquet").episodes.equals(expected)
    without = expected.with_columns(pl.lit(None, pl.String).alias("task_digest"), pl.lit(None, pl.String).alias("transcript_digest"))
    assert read(tmp_path, packed.getvalue().encode(), in_csv, name="a.csv").episodes.equals(without)


def test_kinds_of_json_are_told_apart(tmp_path: Path) -> None:
    told = mapping(utility={"column": "ok", "true": ["1"], "false": [False], "unknown": [None]})
    values = ["1", 1, 1.0, True, False, 0, None, "false", "\u0031"]
    rows = [{**ROW, "task": f"t{number}", "ok": value} for number, value in enumerate(values)]
    found = read(tmp_path, lines(*rows), told)
    assert found.episodes["utility"].to_list() == [True, None, None, None, False, None, None, None, True]
    (note,) = found.notes
    for value in ("1 in 1", "1.0 in 1", "true in 1", "0 in 1", '"false" in 1'):
        assert value in note


def test_numbers_are_equal_by_value_and_absent_is_null(tmp_path: Path) -> None:
    told = mapping(utility={"column": "ok", "true": [1], "false": [0]})
    rows: list[dict[str, Any]] = [{**ROW, "task": "a", "ok": 1.0}, {**ROW, "task": "b", "ok": -0.0}, {"task": "c", "inj": "i0", "end": "ok"}]
    assert read(tmp_path, lines(*rows), told).episodes["utility"].to_list() == [True, False, None]


def test_escapes_are_undone_and_ids_keep_every_letter(tmp_path: Path) -> None:
    content = b'{"task":"caf\\u00e9 \\"x\\"\\ud83d\\ude00","inj":"i/0","end":"\\u006fk","ok":true}\n'
    found = read(tmp_path, content, BASE).episodes.row(0, named=True)
    assert (found["task_id"], found["status"], found["utility"]) == ('café "x"😀', "completed", True)


@pytest.mark.parametrize(
    ("value", "inverted", "expected"),
    [(True, "attacker-failed", False), (True, "attacker-succeeded", True), (False, "attacker-failed", True), (None, "attacker-failed", None)],
)
def test_polarity_says_what_true_states(tmp_path: Path, value: Any, inverted: str, expected: bool | None) -> None:
    told = mapping(attack_success={"column": "safe", "polarity": inverted, "true": [True], "false": [False]})
    found = read(tmp_path, lines({**ROW, "safe": value}), told)
    assert found.episodes["attack_success"].to_list() == [expected]
    assert read(tmp_path, lines({**ROW, "safe": value, "inj": None}), told, arm="benign").episodes["attack_success"].to_list() == [None]


def test_a_threshold_is_at_least(tmp_path: Path) -> None:
    told = mapping(utility={"column": "ok", "true_from": 0.5, "unknown": [-1]})
    values = [0.5, 0.49, 1, "0.7", "x", True, None, -1]
    rows = [{**ROW, "task": f"t{number}", "ok": value} for number, value in enumerate(values)]
    assert read(tmp_path, lines(*rows), told).episodes["utility"].to_list() == [True, False, True, True, None, None, None, None]


def test_verdicts_of_rows_that_broke_off_are_kept_unless_the_mapping_says_so(tmp_path: Path) -> None:
    content = lines({**ROW, "end": "dead", "ok": False})
    assert read(tmp_path, content, BASE).episodes["utility"].to_list() == [False]
    told = mapping(utility={"column": "ok", "true": [True], "false": [False], "aborted": "unknown"})
    assert read(tmp_path, content, told).episodes["utility"].to_list() == [None]


def test_status_by_values_then_patterns_then_otherwise(tmp_path: Path) -> None:
    told = mapping(
        status={
            "column": "end", "completed": [None], "cancelled": ["HTTP 500 by hand"],
            "patterns": [{"matches": "^HTTP 5", "means": "infra_error"}, {"matches": "(?i)filter", "means": "provider_block"}],
            "otherwise": "agent_limit",
        }
    )  # fmt: skip
    values = [None, "HTTP 500 by hand", "HTTP 503 filter", "Content Filter", "steps"]
    rows = [{**ROW, "task": f"t{number}", "end": value} for number, value in enumerate(values)]
    expected = ["completed", "cancelled", "infra_error", "provider_block", "agent_limit"]
    assert read(tmp_path, lines(*rows), told).episodes["status"].to_list() == expected


def test_a_status_that_means_nothing_is_refused_with_its_values(tmp_path: Path) -> None:
    problem = refused(tmp_path, lines(ROW, {**ROW, "end": "weird"}, {**ROW, "end": None}), BASE)
    assert problem.code == "unmapped-status"
    assert '"weird" in 1 rows' in problem.message
    assert "null in 1 rows" in problem.message


def test_arms_and_other_pipelines_are_chosen_by_columns(tmp_path: Path) -> None:
    told = {**BASE, "where": [{"column": "model", "is": ["m1"]}]}
    told["arms"] = {"benign": {"where": [{"column": "inj", "is": [None, "none"]}]}, "attacked": {"where": [{"column": "inj", "is_not": [None, "none"]}]}}
    rows = [
        {**ROW, "inj": inj, "model": model, "task": f"{inj}{model}"} for inj in (None, "none", "i0", "i1") for model in ("m1", "m2", None)
    ]
    attacked = read(tmp_path, lines(*rows), told)
    assert attacked.episodes["task_id"].to_list() == ["i0m1", "i1m1"]
    assert attacked.set_aside == {"rows of other arms": 10}
    assert read(tmp_path, lines(*rows), told, arm="benign").episodes.height == 2


def test_one_attack_is_one_run(tmp_path: Path) -> None:
    told = {**BASE, "attack": {"column": "how"}}
    content = lines({**ROW, "how": "x"}, {**ROW, "how": "y", "task": "t1"})
    assert refused(tmp_path, content, told).code == "mixed-attacks"
    found = read(tmp_path, content, told, attack="y")
    assert (found.run["attack"]["name"], found.episodes["task_id"].to_list()) == ("y", ["t1"])
    assert refused(tmp_path, content, told, attack="z").code == "no-episodes"
    assert refused(tmp_path, lines({**ROW, "how": None}), told).code == "mixed-attacks"
    assert refused(tmp_path, content, {k: v for k, v in BASE.items() if k != "attack"}).code == "no-attack-name"
    assert refused(tmp_path, content, BASE, attack="other").code == "contradiction"


def test_epochs_by_number_by_seed_and_by_the_command(tmp_path: Path) -> None:
    told = mapping(epoch={"column": "trial", "first": 0}, seed={"column": "seed"})
    content = lines({**ROW, "trial": 0, "seed": 5}, {**ROW, "trial": 1, "seed": 6})
    assert read(tmp_path, content, told).run["epochs"] == [{"epoch": 1, "seed": 5}, {"epoch": 2, "seed": 6}]
    assert refused(tmp_path, content, told, epoch=2).code == "usage"
    assert refused(tmp_path, lines({**ROW, "trial": 0, "seed": 5}, {**ROW, "trial": 0, "seed": 6}), told).code == "mixed-seeds"
    by_seed = mapping(epoch={"column": "seed", "seeds": [6, 5]})
    assert read(tmp_path, content, by_seed).run["epochs"] == [{"epoch": 1, "seed": 6}, {"epoch": 2, "seed": 5}]
    assert refused(tmp_path, lines({**ROW, "seed": 7}), by_seed).code == "unmapped-cell"
    assert read(tmp_path, lines(ROW), BASE, epoch=3).episodes["epoch"].to_list() == [3]


def test_ids_are_joined_prefixed_and_absent_as_the_mapping_says(tmp_path: Path) -> None:
    told = mapping(
        task_id={"columns": ["suite", "task"], "join": "/"}, injection_id={"column": "inj", "prefix": "injection_task_", "none": ["-"]}
    )
    rows = [{**ROW, "suite": "s", "task": 3, "inj": 7}, {**ROW, "suite": "s", "task": 3.0, "inj": "-"}]
    found = read(tmp_path, lines(*rows), told).episodes
    assert found.select("task_id", "injection_id").rows() == [("s/3", None), ("s/3", "injection_task_7")]
    assert refused(tmp_path, lines({**ROW, "suite": None}), told).code == "unmapped-cell"


def test_what_the_whole_run_says_is_taken_from_columns_and_joins_what_is_said_beside(tmp_path: Path) -> None:
    told = {**BASE, "run": {"temperature": {"column": "temp"}, "requested_model": {"column": "model"}, "system_prompt": {"column": "prompt"}}}
    rows = [{**ROW, "temp": 0, "model": "m", "prompt": "Be good."}, {**ROW, "task": "t1", "end": "dead"}]
    system = {"system": {"decoding": {"top_p": None, "max_tokens": 9}, "model": {"served": ["m-1"]}}}
    run = read(tmp_path, lines(*rows), told, system=system).run
    assert run["system"]["decoding"] == {"temperature": 0, "top_p": None, "max_tokens": 9}
    assert run["system"]["model"] == {"requested": "m", "served": ["m-1"], "provider": None}
    assert run["system"]["system_prompt_digest"].startswith("sha256:")
    wrong = {"system": {"decoding": {"temperature": 1}}}
    problem = refused(tmp_path, lines(*rows), told, system=wrong)
    assert (problem.code, problem.pointer) == ("contradiction", "/system/decoding/temperature")
    assert refused(tmp_path, lines(*rows, {**ROW, "temp": 0.7}), told).code == "mixed-temperatures"


def test_a_transcript_is_digested_whatever_the_order_of_its_keys(tmp_path: Path) -> None:
    told = mapping(transcript={"column": "log"})
    rows = [{**ROW, "log": [{"a": 1, "b": "é"}]}, {**ROW, "task": "t1", "log": [{"b": "é", "a": 1}]}, {**ROW, "task": "t2", "log": None}]
    first, second, third = read(tmp_path, lines(*rows), told).episodes["transcript_digest"]
    assert first == second
    assert third is None


def test_quantities_that_are_none_are_unknown_and_named(tmp_path: Path) -> None:
    told = mapping(duration={"column": "took", "unit": "min"}, attacker_actions={"column": "acts"})
    rows = [{**ROW, "task": f"t{number}", "took": took, "acts": acts} for number, (took, acts) in enumerate([(0.5, 2), ("soon", 1.5), (-1, -1), (1e300, "3")])]
    found = read(tmp_path, lines(*rows), told)
    assert found.episodes["duration_ms"].to_list() == [30_000, None, None, None]
    assert found.episodes["attacker_actions"].to_list() == [2, None, None, 3]
    assert len(found.notes) == 2


def test_missing_numbers_of_a_table_are_unknown(tmp_path: Path) -> None:
    frame = pl.DataFrame({"task": ["a", "b"], "inj": ["i", "i"], "end": ["ok", "ok"], "ok": [1.0, float("nan")]})
    table = io.BytesIO()
    frame.write_parquet(table)
    assert read(tmp_path, table.getvalue(), BASE, name="a.parquet").episodes["utility"].to_list() == [True, None]


def test_a_csv_quotes_and_separates_as_it_says(tmp_path: Path) -> None:
    told = {**mapping(error={"column": "err", "none": [""]}, utility={"column": "ok", "true": [1], "false": [0]}), "csv": {"delimiter": ";"}}
    content = b'task;inj;end;ok;err\n"a;b";i;ok;1;"two\nlines ""quoted"""\nc;i;ok;0;\n'
    found = read(tmp_path, content, told, name="a.csv").episodes
    assert found.select("task_id", "utility", "error").rows() == [("a;b", True, 'two\nlines "quoted"'), ("c", False, None)]


@pytest.mark.parametrize(
    ("content", "code"),
    [(b't0,i,ok,1,"boom\nt1,i,ok,1,\nt2,i,ok,1,\n', "open-quote"), (b't0,i,ok,1,"boom\nt1,i,ok,1,\nt2,i,ok,1,"boom\n', "bad-quote"),
     (b't0,i,ok,1,5" wide\nt1,i,ok,1,6" wide\n', "bad-quote")],
)  # fmt: skip
def test_a_quote_that_is_not_closed_swallows_no_rows(tmp_path: Path, content: bytes, code: str) -> None:
    told = mapping(error={"column": "err", "none": [""]}, utility={"column": "ok", "true": [1], "false": [0]})
    assert refused(tmp_path, b"task,inj,end,ok,err\n" + content, told, name="a.csv").code == code
    good = b'task,inj,end,ok,err\nt0,i,ok,1,"boom"\r\nt1,i,ok,1,"a ""b"""\nt2,i,ok,1,""'
    assert read(tmp_path, good, told, name="a.csv").episodes["error"].to_list() == ["boom", 'a "b"', None]


def test_files_that_another_case_or_ending_hides_are_counted(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.jsonl", "b.CSV", "c.tsv", "sub/d.csv", "e.JSONL.gz", "notes.txt"):
        (tmp_path / name).write_bytes(lines(ROW))
    manifest, value = read_document(SuiteManifest, json.dumps(MANIFEST).encode())
    found = IMPORTER.with_mapping(BASE).read([tmp_path], suite=manifest, suite_digest=suite_digest(value), arm="attacked")
    assert found.set_aside == {"tables in the folder that were not read": 4}


def test_a_mapping_with_half_a_character_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Malformed) as found:
        IMPORTER.with_mapping({**BASE, "a": "\ud800"})
    assert found.value.code == "bad-mapping"


def test_a_folder_is_read_by_patterns_and_no_link_leads_out(tmp_path: Path) -> None:
    (tmp_path / "runs" / "deep").mkdir(parents=True)
    (tmp_path / "runs" / "a.jsonl").write_bytes(lines(ROW))
    (tmp_path / "runs" / "deep" / "b.jsonl").write_bytes(lines({**ROW, "task": "t1"}))
    (tmp_path / "runs" / ".hidden.jsonl").write_bytes(b"nonsense")
    (tmp_path / "outside.jsonl").write_bytes(b"nonsense")
    (tmp_path / "runs" / "c.jsonl").symlink_to(tmp_path / "outside.jsonl")
    manifest, value = read_document(SuiteManifest, json.dumps(MANIFEST).encode())

    def found(told: dict[str, Any]) -> Imported:
        return IMPORTER.with_mapping(told).read([tmp_path / "runs"], suite=manifest, suite_digest=suite_digest(value), arm="attacked")

    assert found(BASE).episodes["task_id"].to_list() == ["t0"]
    assert found(BASE).set_aside == {"links that leave the folder": 1, "tables in the folder that were not read": 1}
    assert found({**BASE, "files": ["**/*.jsonl"]}).episodes["task_id"].to_list() == ["t0", "t1"]
    for pattern in ("../*.jsonl", "/etc/*"):
        with pytest.raises(Malformed) as problem:
            found({**BASE, "files": [pattern]})
        assert problem.value.code == "bad-pattern"
    with pytest.raises(Malformed, match="no-records"):
        found({**BASE, "files": ["*.csv"]})


def test_without_a_mapping_it_recognises_and_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(ROW))
    assert not IMPORTER.recognises([tmp_path])
    assert not IMPORTER.recognises([tmp_path / "a.jsonl"])
    manifest, value = read_document(SuiteManifest, json.dumps(MANIFEST).encode())
    with pytest.raises(Malformed, match="no-mapping"):
        IMPORTER.read([tmp_path], suite=manifest, suite_digest=suite_digest(value), arm="benign")


@pytest.mark.parametrize("size", [1, 64, 1000])
def test_the_size_of_blocks_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    from pairmark.importers.generic import jsonl, stream, tables

    rows = [{**ROW, "task": f"t{number}", "ok": number % 2, "err": "a\n\"b\", c" * (number % 3)} for number in range(40)]
    told = mapping(error={"column": "err", "none": [""]}, utility={"column": "ok", "true": [1], "false": [0]})
    packed = io.StringIO()
    pl.DataFrame(rows).write_csv(packed)
    expected = read(tmp_path, lines(*rows), told).episodes
    assert expected["error"].null_count() == 14
    for module in (jsonl, tables):
        monkeypatch.setattr(module, "_BLOCK_BYTES", size)
    monkeypatch.setattr(stream, "_CHUNK", max(1, size // 3))
    assert read(tmp_path, lines(*rows), told).episodes.equals(expected)
    assert read(tmp_path, packed.getvalue().encode(), told, name="a.csv").episodes.equals(expected)
