"""Release: whole or not at all, of certified pairs only, and what became of a certificate is obeyed everywhere at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.log.fsck import check_log
from pairmark.adapters.log.mark import HighWaterMark
from pairmark.adapters.sql.tables.certificates import SqlCertificates
from pairmark.adapters.sql.tables.history import SqlHistory
from pairmark.adapters.sql.tables.log import SqlLog
from pairmark.app import certify, release
from pairmark.app.ports import Tables
from pairmark.app.records import Certification
from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.errors import Conflict
from pairmark.domain.strict_json import parse
from pairmark.domain.world import World
from pairmark.http.services import Services
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.statement import read_statement
from pairmark.verify import Memory, verify_bundle
from tests.databases import POSTGRESQL_SLOW, forget
from tests.service.serving import Service, problem_in


def services_in(service: Service) -> Services:
    found = service.app.state.services
    assert isinstance(found, Services)
    return found


def faults(service: Service) -> list[str]:
    parts = services_in(service)
    return list(check_log(parts.database, parts.signing, HighWaterMark(parts.settings.keys_dir, parts.signing.origin)))


def verified(service: Service, certificate: str) -> int:
    """Exit code of an offline verification with the whole log."""
    answer = service.get(f"/v1/certificates/{certificate}/bundle")
    assert answer.status_code == 200, answer.text
    lines = [{"envelope": item["envelope"], "entry": item["entry"], "index": item["index"]} for item in entries(service)]
    checkpoint = service.get("/v1/log/checkpoint").text
    log = b"".join(canonical_bytes(line) + b"\n" for line in [*lines, {"checkpoint": checkpoint}])
    found = verify_bundle(answer.content, trust=service.get("/v1/log/trust").content, log=log, remembered=Memory())
    failed = [(step.name, step.message) for step in found.steps if step.outcome == "FAIL"]
    assert failed == []
    return found.exit_code


def entries(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start: int | None = 0
    while start is not None:
        page = service.get("/v1/log/entries", start=start, limit=5).json()
        found += page["items"]
        start = page["next"]
    return found


def kinds(service: Service) -> list[str]:
    return [item["entry"]["kind"] for item in entries(service)]


pytestmark = POSTGRESQL_SLOW


@pytest.fixture(autouse=True)
def _both(kind: str, tmp_path: Path) -> Iterator[None]:
    yield
    forget(tmp_path)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def shop(kind: str, tmp_path_factory: pytest.TempPathFactory, world: World) -> Service:
    """A service with sealed runs, and nothing judged yet."""
    service = Service.at(tmp_path_factory.mktemp("shop") / "data")
    service.submit(world)
    return service


@pytest.fixture(scope="module")
def judged(shop: Service, world: World) -> certify.Judged:
    parts, ids = services_in(shop), shop.submit(world)
    with parts.database.reading() as tables:
        claim = certify.claim_of(tables, parts.policies, benign=ids["benign"], attacked=ids["attacked"], baseline=ids["baseline"], policy="standard/1")
        evidence = certify.evidence_of(tables, claim)
    return certify.judge(evidence, parts.ledgers, parts.quality)


def stored(parts: Services) -> tuple[int, int, int]:
    """Log entries, certifications and certificates that are there."""
    from sqlalchemy import text

    with parts.database.engine.connect() as connection:
        counts = [
            connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in ("log_entries", "certifications", "certificates")
        ]
    return counts[0], counts[1], counts[2]


POINTS = [
    (SqlCertificates, "add"), (SqlHistory, "add"), (SqlLog, "next_index"), (SqlLog, "registered"), (SqlLog, "append"), (SqlLog, "release"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "method"), POINTS)
@pytest.mark.parametrize("after", [False, True])
def test_cut_off_at_any_step_nothing_is_half_released(
    shop: Service, judged: certify.Judged, monkeypatch: pytest.MonkeyPatch, part: type, method: str, after: bool
) -> None:
    parts = services_in(shop)
    before, real = stored(parts), getattr(part, method)

    def cut(*given: Any, **named: Any) -> Any:
        if after:
            real(*given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(part, method, cut)
    with pytest.raises(KeyboardInterrupt):
        parts.database.write(lambda tables: certify.record(tables, judged, parts.signing, parts.new_id, parts.clock()))
    monkeypatch.undo()
    assert stored(parts) == before
    assert faults(shop) == []


@pytest.mark.parametrize("verdict", ["refused", "quarantined"])
def test_nothing_but_a_certified_pair_is_ever_released(shop: Service, judged: certify.Judged, verdict: str) -> None:
    parts = services_in(shop)
    before = stored(parts)

    def force(tables: Tables) -> None:
        claim = judged.evidence.claim
        certification = Certification(
            id="certification-forced", subject="s", benign=claim.benign, attacked=claim.attacked, baseline=claim.baseline,
            policy=claim.policy, manifest=claim.manifest, disproof=None, disproves=None, report=claim.policy, verdict=verdict,
            certificate=None, created_at="2026-01-22T07:00:00.000000+00:00",
        )  # fmt: skip
        runs = {role: (run.id, seal) for role, (run, seal, _) in judged.evidence.runs.items()}
        release.release(tables, parts.signing, certification, judged.experiment, judged.checked, runs, judged.rows, "certificate-forced")

    with pytest.raises(Conflict, match=f"expected a certified pair to release, found it {verdict}"):
        parts.database.write(force)
    assert stored(parts) == before


def test_a_refused_report_cannot_be_released_under_a_certified_row(shop: Service, judged: certify.Judged) -> None:
    parts = services_in(shop)
    report = judged.checked.report.model_copy(update={"verdict": "refused"})
    lying = replace(judged, checked=replace(judged.checked, report=report))

    def force(tables: Tables) -> None:
        claim = judged.evidence.claim
        certification = Certification(
            id="certification-forced", subject="s", benign=claim.benign, attacked=claim.attacked, baseline=claim.baseline,
            policy=claim.policy, manifest=claim.manifest, disproof=None, disproves=None, report=claim.policy, verdict="certified",
            certificate=None, created_at="2026-01-22T07:00:00.000000+00:00",
        )  # fmt: skip
        runs = {role: (run.id, seal) for role, (run, seal, _) in judged.evidence.runs.items()}
        release.release(tables, parts.signing, certification, judged.experiment, lying.checked, runs, judged.rows, "certificate-forced")

    with pytest.raises(Conflict, match="expected a certified pair"):
        parts.database.write(force)


def test_a_disproof_that_is_not_in_the_log_releases_nothing(shop: Service, judged: certify.Judged) -> None:
    parts = services_in(shop)
    claim = replace(judged.evidence.claim, disproof=judged.evidence.claim.policy, disproves=None)
    unlogged = replace(judged, evidence=replace(judged.evidence, claim=claim))
    before = stored(parts)
    with pytest.raises(Conflict, match="in the log before its release, found none"):
        parts.database.write(lambda tables: certify.record(tables, unlogged, parts.signing, parts.new_id, parts.clock()))
    assert stored(parts) == before


def test_a_refused_pair_has_no_certificate_and_no_entry(shop: Service, world: World) -> None:
    ids = shop.submit(world.edit_run("attacked", "/system/model/served", ["another-model"]))
    before = kinds(shop)
    answer = shop.certify(ids).json()
    assert (answer["report"]["verdict"], answer["certificate"]) == ("refused", None)
    assert kinds(shop) == before


@pytest.fixture(scope="module")
def certified(shop: Service, world: World) -> tuple[str, str]:
    """Two certificates of one suite, after a pair that was refused."""
    shop.submit(world.edit_run("attacked", "/system/model/served", ["another-model"]))
    first = shop.certify(shop.submit(world)).json()
    second = shop.certify(shop.submit(world.set("attacked", 1, duration_ms=77))).json()
    assert first["report"]["verdict"] == second["report"]["verdict"] == "certified"
    return str(first["certificate"]), str(second["certificate"])


class TestStanding:
    """In this order: released, superseded, revoked, cascaded."""

    def test_a_bundle_verifies(self, shop: Service, certified: tuple[str, str]) -> None:
        assert [verified(shop, one) for one in certified] == [0, 0]
        assert faults(shop) == []

    def test_it_counts_announced_runs_and_those_that_never_finished(self, shop: Service, certified: tuple[str, str]) -> None:
        bundle = parse_bundle(shop.get(f"/v1/certificates/{certified[1]}/bundle").content)
        counted = read_statement(bundle.certificate.envelope.payload).predicate.registrations
        assert counted.up_to == bundle.certificate.parsed_receipt.index
        assert counted.attacked.announced == 3  # this one, the refused pair's and the first certificate's
        assert counted.attacked.unfinished == 0
        assert counted.attacked.after_the_fact == 3

    def test_publish_gives_the_receipt_of_the_bundle(self, shop: Service, certified: tuple[str, str]) -> None:
        path = f"/v1/certificates/{certified[0]}/publish"
        answer = shop.post(path, {}, Idempotency_Key="publish-1")
        assert answer.status_code == 200
        value: Any = parse(shop.get(f"/v1/certificates/{certified[0]}/bundle").content)
        assert answer.json()["receipt"] == value["receipt"]
        assert shop.post(path, {}, Idempotency_Key="publish-1").headers["idempotency-replayed"] == "true"
        problem_in(shop.post("/v1/certificates/certificate-0/publish", {}), 404, "unknown-certificate")

    def test_a_reason_is_one_of_the_closed_list(self, shop: Service, certified: tuple[str, str]) -> None:
        path = f"/v1/certificates/{certified[0]}/revoke"
        problem_in(shop.post(path, {"reason": "because"}), 422, "invalid-value")
        problem_in(shop.post(path, {}), 422, "missing-key")
        problem_in(shop.post("/v1/certificates/certificate-0/revoke", {"reason": "legal"}), 404, "unknown-certificate")

    def test_superseded_it_is_cautioned_and_left_out(self, shop: Service, certified: tuple[str, str]) -> None:
        old, new = certified
        path = f"/v1/certificates/{old}/supersede"
        problem_in(shop.post(path, {"by": old, "reason": "duplicate"}), 409, "same-certificate")
        problem_in(shop.post(path, {"by": "certificate-0", "reason": "duplicate"}), 404, "unknown-certificate")
        size = shop.get(f"/v1/certificates/{old}/status").json()["size"]
        answer = shop.post(path, {"by": new, "reason": "duplicate", "note": "one run twice"}, Idempotency_Key="supersede-1")
        assert answer.status_code == 201
        assert answer.json()["certificates"] == [old]
        again = shop.post(path, {"by": new, "reason": "duplicate", "note": "one run twice"}, Idempotency_Key="supersede-1")
        assert (again.content, again.headers["idempotency-replayed"]) == (answer.content, "true")
        status = shop.get(f"/v1/certificates/{old}/status").json()
        assert (status["status"], status["by"], status["reason"]) == ("superseded", new, "duplicate")
        assert shop.get(f"/v1/certificates/{old}/status", size=size).json()["status"] == "valid"
        assert b"superseded" in shop.get(f"/v1/certificates/{old}/badge").content
        assert verified(shop, old) == 5
        assert verified(shop, new) == 0
        history = shop.get("/v1/history", suite=World().suite_manifest()["suite"]).json()
        assert [item["certificate"] for item in history["items"]] == [new]
        assert history["left_out"]["superseded"] == 1
        compared = shop.get("/v1/comparisons", left=old, right=new)
        assert compared.status_code == 200
        assert "the left certificate was superseded by a newer one" in compared.json()["cautions"]
        problem_in(shop.post(path, {"by": new, "reason": "duplicate"}), 409, "not-valid")

    def test_revoked_it_compares_with_nothing(self, shop: Service, certified: tuple[str, str]) -> None:
        old, new = certified
        answer = shop.post(f"/v1/certificates/{old}/revoke", {"reason": "measurement-error"})
        assert answer.status_code == 201
        assert verified(shop, old) == 4
        problem_in(shop.get("/v1/comparisons", left=old, right=new), 409, "certificate-revoked")
        problem_in(shop.post(f"/v1/certificates/{old}/revoke", {"reason": "legal"}), 409, "already-revoked")
        assert shop.get("/v1/history", suite=World().suite_manifest()["suite"]).json()["left_out"]["revoked"] == 1
        assert faults(shop) == []

    def test_a_cascade_lists_first_and_then_revokes_in_one_entry(self, shop: Service, certified: tuple[str, str]) -> None:
        _, new = certified
        manifest = World().suite_manifest()
        checker = manifest["tasks"][0]["checker"]
        before = len(kinds(shop))
        problem_in(shop.post("/v1/cascades", {"reason": "checker-defect", "digest": digest_of_bytes(b"x"), "dry_run": True}), 404, "unknown-defect")
        problem_in(shop.post("/v1/cascades", {"reason": "legal", "digest": checker, "dry_run": True}), 422, "invalid-value")
        listed = shop.post("/v1/cascades", {"reason": "checker-defect", "digest": checker, "dry_run": True})
        assert listed.status_code == 200
        assert (listed.json()["certificates"], listed.json()["change"], listed.json()["unsigned"]) == ([new], None, [])
        assert listed.json()["labels"] == [f"{manifest['suite']}@{manifest['version']}"]
        assert len(kinds(shop)) == before
        done = shop.post("/v1/cascades", {"reason": "checker-defect", "digest": checker, "dry_run": False})
        assert done.status_code == 201
        assert kinds(shop)[before:] == ["status"]
        assert done.json()["change"]["certificates"] == [new]
        assert verified(shop, new) == 4
        problem_in(shop.post("/v1/cascades", {"reason": "checker-defect", "digest": checker, "dry_run": False}), 409, "nothing-depends")
        assert faults(shop) == []


def test_the_certificate_that_rests_on_a_disproof_shows_it(tmp_path: Path) -> None:
    service = Service.at(tmp_path / "data")
    held = World().without_probe().set("attacked", utility=True).set("benign", utility=True)
    first = service.certify(service.submit(held)).json()
    assert first["report"]["verdict"] == "quarantined"
    assert "certificate" not in kinds(service)
    problem_in(service.get(f"/v1/certificates/{first['id']}/bundle"), 404, "unknown-certificate")
    evidence = {"text": "The harness was replayed by hand.", "digests": [digest_of_bytes(b"notes")]}
    found = service.post(f"/v1/certifications/{first['id']}/disproof", evidence).json()
    assert kinds(service)[-2:] == ["disproof", "certificate"]
    bundle = parse_bundle(service.get(f"/v1/certificates/{found['certificate']}/bundle").content)
    stated = read_statement(bundle.certificate.envelope.payload).predicate.disproof
    assert stated is not None
    assert (stated.certification, stated.record.text) == (first["id"], evidence["text"])
    assert verified(service, found["certificate"]) == 0
    assert faults(service) == []


def test_a_run_that_was_announced_and_never_finished_is_counted(tmp_path: Path, world: World) -> None:
    from tests.service.serving import announced

    service = Service.at(tmp_path / "data")
    service.register(world)
    for _ in range(2):
        assert service.post("/v1/runs", announced(world.run("attacked"))).status_code == 201
    found = service.certify(service.submit(world)).json()
    bundle = parse_bundle(service.get(f"/v1/certificates/{found['certificate']}/bundle").content)
    counted = read_statement(bundle.certificate.envelope.payload).predicate.registrations
    assert (counted.attacked.announced, counted.attacked.unfinished, counted.attacked.after_the_fact) == (3, 2, 1)
    assert (counted.benign.announced, counted.benign.unfinished) == (1, 0)
    assert verified(service, found["certificate"]) == 0
