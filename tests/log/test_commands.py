"""The commands about the log and a certificate's standing, against a real service."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairmark.domain.world import World
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.log_export import replay
from tests.cli.running import Here
from tests.service.serving import Service, listening


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("commands") / "data"


@pytest.fixture(scope="module")
def certificates(folder: Path) -> tuple[str, str]:
    service, world = Service.at(folder), World()
    first = service.certify(service.submit(world)).json()["certificate"]
    second = service.certify(service.submit(world.set("attacked", 1, duration_ms=77))).json()["certificate"]
    service.app.state.services.database.close()
    return str(first), str(second)


@pytest.fixture(scope="module")
def url(folder: Path, certificates: tuple[str, str]) -> Iterator[str]:
    with listening(folder) as found:
        yield found


def test_the_whole_log_is_exported(here: Here, url: str, tmp_path: Path) -> None:
    target = tmp_path / "log.jsonl"
    done = here("log", "export", "-o", target, "--service", url)
    assert (done.code, done.err) == (0, "")
    read = replay(target.read_bytes())
    assert f"{len(read.entries)} entries and the checkpoint" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_every_form_of_a_certificate(here: Here, url: str, certificates: tuple[str, str], tmp_path: Path) -> None:
    one = certificates[0]
    for form in ("bundle", "svr", "badge", "citation"):
        assert here("export", one, "--as", form, "-o", tmp_path / form, "--service", url).code == 0
    bundle = parse_bundle((tmp_path / "bundle").read_bytes())
    assert (tmp_path / "svr").read_bytes() == bundle.svr.content()
    badge = ET.fromstring((tmp_path / "badge").read_bytes())
    assert badge.get("aria-label") == "Pairmark: certified"
    text = (tmp_path / "citation").read_text()
    assert text.startswith(f"Pairmark certificate {one}, issued ")
    for said in (bundle.certificate.envelope_digest, "utility drop ", " [", "@misc{certificate-"):
        assert said in text
    shown = here("export", one, "--as", "citation", "--service", url)
    assert shown.out == text


def test_every_eval_ever_records(here: Here, url: str, certificates: tuple[str, str], tmp_path: Path) -> None:
    one = certificates[0]
    assert here("export", one, "--as", "every-eval-ever", "--service", url).code == 2
    assert here("export", one, "--as", "every-eval-ever", "-o", tmp_path / "records", "--service", url).code == 0
    (samples,) = (tmp_path / "records").rglob("*_samples.jsonl")
    record = json.loads(samples.with_name(samples.name.replace("_samples.jsonl", ".json")).read_bytes())
    assert record["detailed_evaluation_results"]["file_path"] == samples.relative_to(tmp_path / "records").as_posix()
    lines = [json.loads(line) for line in samples.read_bytes().splitlines()]
    where = record["detailed_evaluation_results"]
    assert (where["total_rows"], where["checksum"]) == (len(lines), hashlib.sha256(samples.read_bytes()).hexdigest())
    by_name = {result["evaluation_name"]: result for result in record["evaluation_results"]}
    assert set(by_name) == {"benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate"}
    for name, size in (("benign_utility", 20), ("utility_under_attack", 150)):
        mine = [line["evaluation"]["score"] for line in lines if line["evaluation_name"] == name]
        assert len(mine) == size
        bounds = by_name[name]["score_details"]["uncertainty"]["confidence_interval"]
        assert bounds["lower"] <= by_name[name]["score_details"]["score"] <= bounds["upper"]
    assert {line["evaluation_id"] for line in lines} == {record["evaluation_id"]}


def test_a_monitor_proves_growth_and_says_what_is_notable(here: Here, url: str, certificates: tuple[str, str], tmp_path: Path) -> None:
    import httpx

    old, new = certificates
    trust, state = tmp_path / "trust.json", tmp_path / "seen.json"
    trust.write_bytes(httpx.get(f"{url}/v1/log/trust").content)
    watch = ("log", "monitor", "--trust", trust, "--state", state, "--service", url)
    first = here(*watch)
    assert (first.code, first.err) == (0, "")
    assert "the log only grew" in first.out
    assert "0 of them new" in here(*watch).out
    assert here("revoke", old, "--reason", "superstition", "--service", url).code == 2
    assert here("supersede", old, "--by", new, "--reason", "duplicate", "--service", url).code == 0
    assert here("supersede", old, "--by", new, "--reason", "duplicate", "--service", url).code == 1
    second = here(*watch)
    assert f"superseded  {old}  duplicate" in second.out
    assert "1 of them new" in second.out
    kept = state.read_bytes()
    value = json.loads(kept)
    value["peaks"][0] = "00" * 32
    state.write_text(json.dumps(value))
    forked = here(*watch)
    assert forked.code == 1
    assert "log-forked" in forked.err
    value["size"], value["peaks"] = 1024, ["00" * 32]
    state.write_text(json.dumps(value))
    assert "log-shrank" in here(*watch).err
    state.write_bytes(b"{}")
    assert here(*watch).code == 2
    state.write_bytes(kept)
    assert here(*watch).code == 0


def test_a_cascade_needs_a_digest_and_its_reason(here: Here, url: str, certificates: tuple[str, str]) -> None:
    checker = World().suite_manifest()["tasks"][0]["checker"]
    assert here("revoke", "--reason", "legal", "--service", url).code == 2
    assert here("revoke", certificates[0], "--all-of", checker, "--reason", "legal", "--service", url).code == 2
    assert here("revoke", "--all-of", checker, "--reason", "legal", "--service", url).code == 2
    listed = here("revoke", "--all-of", checker, "--reason", "checker-defect", "--dry-run", "--service", url)
    assert listed.code == 0
    assert f"would be revoked  {certificates[1]}" in listed.out
    assert "nothing changed" in listed.out
    done = here("revoke", "--all-of", checker, "--reason", "checker-defect", "--service", url)
    assert done.code == 0
    assert "2 certificates, one entry at log index" in done.out


def test_fsck(here: Here, folder: Path, certificates: tuple[str, str], url: str) -> None:
    done = here("log", "fsck", "--data", folder)
    assert (done.code, done.err) == (0, "")
    assert done.out.strip().endswith("whole")
    connection = sqlite3.connect(folder / "pairmark.db")
    connection.execute("UPDATE history_entries SET status = 'valid' WHERE id = ?", (certificates[0],))
    connection.commit()
    connection.close()
    wrong = here("log", "fsck", "--data", folder)
    assert wrong.code == 1
    assert f"certificate {certificates[0]}: expected history to show it" in wrong.err


def test_exported_records_come_back_as_the_ledgers_they_were(here: Here, url: str, certificates: tuple[str, str], tmp_path: Path) -> None:
    """All but digests, which the format has no place for."""
    from pairmark.domain.documents.suite import SuiteManifest
    from pairmark.importers.every_eval_ever import IMPORTER

    world = World()
    assert here("export", certificates[0], "--as", "every-eval-ever", "-o", tmp_path / "records", "--service", url).code == 0
    (samples,) = (tmp_path / "records").rglob("*_samples.jsonl")
    suite = SuiteManifest.model_validate_json(json.dumps(world.suite_manifest()))
    for arm in ("benign", "attacked"):
        assert IMPORTER.recognises([samples])
        found = IMPORTER.read([samples], suite=suite, suite_digest="sha256:" + "0" * 64, arm=arm)
        expected = world.experiment().arms[arm == "attacked"]
        assert found.episodes.drop("task_digest", "transcript_digest").equals(expected.ledger.drop("task_digest", "transcript_digest"))
        assert found.run["attack"] == (None if expected.run.attack is None else {"name": expected.run.attack.name, "digest": None})
        assert found.run["system"]["model"]["requested"] == "model-x"
