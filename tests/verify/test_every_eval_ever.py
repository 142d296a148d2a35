"""Every Eval Ever records against what that project publishes, where its package is at hand (it needs Python 3.12)."""

from __future__ import annotations

import copy
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.app.every_eval_ever import aggregate_record, record_paths, sample_lines
from pairmark.provenance.bundle import Bundle, parse_bundle
from pairmark.provenance.statement import Statement, read_statement

CORPUS = Path(__file__).parent / "corpus"
UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def material() -> tuple[Bundle, Statement, dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """A certificate with its attacked run and both ledgers."""
    bundle = parse_bundle((CORPUS / "certificate.json").read_bytes())
    run = json.loads((CORPUS / "artifacts/attacked/run.json").read_bytes())
    lines = {role: [json.loads(line) for line in (CORPUS / f"artifacts/{role}/episodes.jsonl").read_bytes().splitlines()] for role in ("benign", "attacked")}
    return bundle, read_statement(bundle.certificate.envelope.payload), run, lines


def records(run: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    bundle, statement, _, ledgers = material()
    samples = [
        line
        for name, role in (("benign_utility", "benign"), ("utility_under_attack", "attacked"))
        for line in sample_lines(statement, run, name, ledgers[role])  # type: ignore[arg-type]  # one of the two
    ]
    where: dict[str, Any] = {"format": "jsonl", "file_path": record_paths(bundle, statement, run).samples, "total_rows": len(samples)}
    return aggregate_record(bundle, statement, run, where, "sha256:" + "0" * 64), samples


def systems() -> list[dict[str, Any]]:
    """The run as it is, and with everything null that may be."""
    _, _, run, _ = material()
    bare, nameless, odd = (copy.deepcopy(run) for _ in range(3))
    bare["system"] |= {"model": None, "decoding": None, "defenses": None}
    nameless["system"]["model"] |= {"provider": None, "served": None}
    odd["system"]["model"] |= {"provider": "con", "served": ['data/a:b?.c"'], "requested": None}
    return [run, bare, nameless, odd]


@pytest.mark.parametrize("run", systems())
def test_records_have_the_shape_that_the_project_publishes(run: dict[str, Any]) -> None:
    found = importlib.util.find_spec("every_eval_ever")
    if found is None or found.origin is None:
        pytest.skip("the package every-eval-ever, which has the published schemas, is not installed")
    jsonschema = pytest.importorskip("jsonschema")
    schemas = {path.name: json.loads(path.read_bytes()) for path in Path(found.origin).parent.rglob("*.schema.json")}
    record, samples = records(run)
    check = jsonschema.Draft7Validator(schemas["eval.schema.json"])
    assert list(check.iter_errors(record)) == []
    assert schemas["eval.schema.json"]["version"] == record["schema_version"]
    each = jsonschema.Draft7Validator(schemas["instance_level_eval.schema.json"])
    assert [problem for line in samples for problem in each.iter_errors(line)] == []


@pytest.mark.parametrize("run", systems())
def test_lines_and_record_name_each_other(run: dict[str, Any]) -> None:
    record, samples = records(run)
    assert {line["evaluation_id"] for line in samples} == {record["evaluation_id"]}
    assert {line["model_id"] for line in samples} == {record["model_info"]["id"]}
    assert {line["evaluation_result_id"] for line in samples} < {result["evaluation_result_id"] for result in record["evaluation_results"]}
    assert record["model_info"]["additional_details"] == {"deployment_type": "unknown", "model_availability": "unknown"}
    assert all(isinstance(text, str) for result in record["evaluation_results"] for text in result["metric_config"]["additional_details"].values())


def test_only_decoding_that_was_sent_is_said() -> None:
    run = systems()[0]
    run["system"]["decoding"] = {"temperature": 0.0, "top_p": None, "max_tokens": 4096, "seed": 7}
    sent = [result["generation_config"]["generation_args"] for result in records(run)[0]["evaluation_results"]]
    assert sent == [{"temperature": 0.0, "max_tokens": 4096}] * len(sent)
    assert "generation_config" not in records(systems()[1])[0]["evaluation_results"][0]


@given(st.text(max_size=20), st.text(max_size=20))
def test_both_files_lie_where_any_system_can_keep_them(provider: str, served: str) -> None:
    bundle, statement, run, _ = material()
    run["system"]["model"] |= {"provider": provider, "served": [served]}
    places = record_paths(bundle, statement, run)
    parts = places.aggregate.split("/")
    assert len(parts) == 5
    assert parts[0] == "data"
    assert all(part not in ("", ".", "..", "data") and not part.endswith((".", " ")) and not set(part) & set('<>:"\\|?*') for part in parts[1:4])
    assert places.samples == places.aggregate.replace(".json", "_samples.jsonl")


def test_the_name_follows_from_the_certificate() -> None:
    import re

    bundle, statement, run, _ = material()
    assert record_paths(bundle, statement, run) == record_paths(bundle, statement, run)
    assert re.fullmatch(UUID4, Path(record_paths(bundle, statement, run).aggregate).stem)
