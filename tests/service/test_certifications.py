from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes
from pairmark.domain.world import World
from pairmark.http.models import CertificateAnswer, CertificationAnswer
from tests.service.serving import Service, announced, problem_in


@pytest.fixture
def held() -> World:
    """A pair whose utility under attack is not below the benign one, and whose suite has no probe."""
    return World().without_probe().set("attacked", utility=True).set("benign", utility=True)


def test_a_certified_pair_has_a_certificate_that_names_what_it_rests_on(service: Service, world: World) -> None:
    ids = service.submit(world)
    answer = service.certify(ids)
    assert answer.status_code == 201
    found = CertificationAnswer.model_validate_json(answer.content)
    assert answer.headers["location"] == f"/v1/certifications/{found.id}"
    assert found.report is not None
    assert found.report.verdict == "certified"
    assert found.certificate is not None
    released = service.get(f"/v1/certificates/{found.certificate}")
    certificate = CertificateAnswer.model_validate_json(released.content)
    value = released.json()["certificate"]
    assert certificate.digest == digest_of(value)
    assert released.headers["etag"] == f'"{certificate.digest}"'
    assert released.json()["report"] == answer.json()["report"]
    assert value["report"] == digest_of(answer.json()["report"])
    assert value["suite"]["manifest"] == digest_of(world.suite_manifest())
    for role, run_id in ids.items():
        run = world.run(role)  # type: ignore[arg-type]
        assert value["runs"][role] == {"id": run_id, "digest": digest_of(run), "ledger": run["episodes"]}
    assert service.get(f"/v1/certificates/{found.certificate}", {"If-None-Match": released.headers["etag"]}).status_code == 304


def test_the_whole_list_of_flips_is_kept_under_the_digest_that_the_report_names(service: Service, world: World) -> None:
    done = service.certify(service.submit(world)).json()
    named = done["report"]["metrics"]["flips"]
    answer = service.get(f"/v1/certificates/{done['certificate']}/flips")
    assert digest_of_bytes(answer.content) == named["cells_digest"]
    assert answer.headers["etag"] == f'"{named["cells_digest"]}"'
    kinds = [kind for _, _, _, kind in answer.json()]
    assert {kind: kinds.count(kind) for kind in ("lost", "gained", "kept", "neither")} == {
        kind: named[kind] for kind in ("lost", "gained", "kept", "neither")
    }
    first = [{"task": task, "injection": injection, "epoch": epoch, "kind": kind} for task, injection, epoch, kind in answer.json()]
    assert first[:100] == named["cells"]
    problem_in(service.get("/v1/certificates/none/flips"), 404, "unknown-certificate")


def test_a_verdict_reads_back_and_is_cached(filled: tuple[Service, dict[str, str]]) -> None:
    service, ids = filled
    posted = service.certify(ids)
    read = service.get(f"/v1/certifications/{posted.json()['id']}")
    assert read.content == posted.content
    assert read.headers["etag"] == f'"{digest_of(posted.json()["report"])}"'
    assert service.get(f"/v1/certifications/{posted.json()['id']}", {"If-None-Match": read.headers["etag"]}).status_code == 304


def test_one_pair_under_one_policy_has_one_result(filled: tuple[Service, dict[str, str]]) -> None:
    service, ids = filled
    first, second = service.certify(ids), service.certify(ids)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.content == second.content
    keyed = service.post("/v1/certifications", {**ids, "policy": "standard/1"}, Idempotency_Key="k")
    assert keyed.content == first.content


def test_the_policy_is_standard_unless_said_otherwise(filled: tuple[Service, dict[str, str]]) -> None:
    service, ids = filled
    assert service.post("/v1/certifications", ids).json()["id"] == service.certify(ids).json()["id"]


def test_a_refusal_is_a_result_without_numbers_or_certificate(service: Service, world: World) -> None:
    ids = service.submit(world.edit_run("attacked", "/system/decoding/temperature", 0.75))
    answer = service.certify(ids)
    assert answer.status_code == 201
    assert answer.json()["certificate"] is None
    assert answer.json()["report"]["verdict"] == "refused"
    assert answer.json()["report"]["metrics"] is None
    assert service.certify(ids).status_code == 200


def test_without_a_baseline_an_undefended_pair_stands_alone(service: Service, world: World) -> None:
    ids = service.submit(world.undefended())
    report = service.certify(ids).json()["report"]
    assert report["verdict"] == "certified"
    assert report["runs"]["baseline"] == report["runs"]["attacked"]


def test_runs_that_cannot_be_judged_are_named(service: Service, world: World) -> None:
    ids = service.submit(world.without_baseline())
    open_id = service.post("/v1/runs", announced(world.run("baseline"))).json()["id"]
    problem = problem_in(service.certify({**ids, "baseline": "run-0"}), 404, "unknown-run")
    assert problem.errors[0].pointer == "/baseline"
    problem = problem_in(service.certify({**ids, "baseline": open_id}), 409, "run-not-sealed")
    assert problem.errors[0].pointer == "/baseline"
    problem = problem_in(service.certify(ids, policy="lenient/9"), 422, "unknown-policy")
    assert problem.errors[0].pointer == "/policy"
    assert "standard/1" in problem.detail


@pytest.mark.parametrize("policy", ["../../pyproject", "/etc/passwd", "manifests/policies/standard-1.json", "standard", "standard/1/", "STANDARD/1"])
def test_a_policy_is_never_a_path(filled: tuple[Service, dict[str, str]], policy: str) -> None:
    service, ids = filled
    problem_in(service.certify(ids, policy=policy), 422, "unknown-policy")


def test_a_disproof_makes_a_new_certification(service: Service, held: World) -> None:
    ids = service.submit(held)
    first = service.certify(ids)
    assert first.json()["report"]["verdict"] == "quarantined"
    evidence = {"text": "The harness was replayed by hand.", "digests": [digest_of_bytes(b"notes")]}
    path = f"/v1/certifications/{first.json()['id']}/disproof"
    second = service.post(path, evidence)
    assert second.status_code == 201
    found = second.json()
    assert found["disproves"] == first.json()["id"]
    assert found["report"]["verdict"] == "certified"
    assert "disproved" in found["report"]["flags"]
    finding = next(one for one in found["report"]["findings"] if one["rule"] == "sign-plausible")
    assert "replayed by hand" in canonical_bytes(finding).decode()
    certificate = service.get(f"/v1/certificates/{found['certificate']}").json()["certificate"]
    assert certificate["disproof"] == digest_of(evidence)
    assert "disproved" in certificate["flags"]
    assert service.get(f"/v1/certifications/{first.json()['id']}").json() == first.json()
    again = service.post(path, evidence)
    assert (again.status_code, again.json()["id"]) == (200, found["id"])
    problem_in(service.post(f"/v1/certifications/{found['id']}/disproof", evidence), 409, "nothing-held")


def test_only_a_held_result_can_be_disproved(filled: tuple[Service, dict[str, str]]) -> None:
    service, ids = filled
    certified = service.certify(ids).json()["id"]
    problem_in(service.post(f"/v1/certifications/{certified}/disproof", {"text": "x"}), 409, "nothing-held")
    problem_in(service.post("/v1/certifications/certification-0/disproof", {"text": "x"}), 404, "unknown-certification")
    for body, code in (({"text": ""}, "invalid-value"), ({"text": " \n"}, "invalid-value"), ({}, "missing-key"), ({"text": "x", "by": "me"}, "unknown-key")):
        problem_in(service.post(f"/v1/certifications/{certified}/disproof", body), 422, code)


def test_a_probe_registered_later_under_another_version_counts(service: Service, held: World) -> None:
    ids = service.submit(held)
    first = service.certify(ids).json()
    assert first["report"]["verdict"] == "quarantined"
    with_probe = {**World().suite_manifest(), "version": "v1-probed"}
    assert service.post("/v1/suites", with_probe).status_code == 201
    second = service.certify(ids).json()
    assert second["id"] != first["id"]
    assert second["manifest"] == digest_of(with_probe)
    assert second["report"]["suite"] == first["report"]["suite"]


class TestQueued:
    """Above a stated size a certification is promised, not made at once."""

    @pytest.fixture
    def busy(self, tmp_path: Path) -> Iterator[Service]:
        service = Service.at(tmp_path / "busy", wait_episodes=10)
        yield service
        service.app.state.worker.stop(20)

    def finished(self, service: Service, location: str) -> dict[str, Any]:
        service.app.state.worker.wake()
        import time

        until = time.monotonic() + 60
        while time.monotonic() < until:
            answer = service.get(location)
            if answer.status_code == 200:
                return dict(answer.json())
            assert answer.status_code == 202, answer.text
            assert answer.headers["retry-after"].isdigit()
            time.sleep(0.05)
        raise AssertionError("not finished in a minute")

    def test_it_is_done_later_under_the_promised_id(self, busy: Service, world: World) -> None:
        ids = busy.submit(world)
        promised = busy.certify(ids)
        assert promised.status_code == 202
        answer = CertificationAnswer.model_validate_json(promised.content)
        assert (answer.state, answer.report, answer.certificate) == ("waiting", None, None)
        done = self.finished(busy, promised.headers["location"])
        assert done["id"] == answer.id
        assert done["report"]["verdict"] == "certified"
        again = busy.certify(ids)
        assert (again.status_code, again.json()) == (200, done)

    def test_an_equal_request_waits_for_the_same_job(self, busy: Service, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(busy.app.state.worker, "wake", lambda: None)
        ids = busy.submit(world)
        first, second = busy.certify(ids), busy.certify(ids)
        assert (first.status_code, second.status_code) == (202, 202)
        assert first.json() == second.json()
        monkeypatch.undo()
        self.finished(busy, first.headers["location"])

    def test_what_a_dead_process_left_is_taken_up_by_the_next(self, tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        first = Service.at(tmp_path / "data", wait_episodes=10)
        monkeypatch.setattr(first.app.state.worker, "wake", lambda: None)
        promised = first.certify(first.submit(world))
        assert promised.status_code == 202
        second = Service.at(tmp_path / "data")
        done = self.finished(second, promised.headers["location"])
        second.app.state.worker.stop(20)
        assert done["report"]["verdict"] == "certified"

    def test_a_job_that_comes_to_nothing_says_so_and_may_be_asked_again(self, busy: Service, world: World) -> None:
        ids = busy.submit(world)
        folder = busy.app.state.services.settings.data_dir
        (folder / "objects").rename(folder / "lost")
        promised = busy.certify(ids)
        import time

        until = time.monotonic() + 60
        while busy.get(promised.headers["location"]).status_code == 202 and time.monotonic() < until:
            time.sleep(0.05)
        problem_in(busy.get(promised.headers["location"]), 500, "certification-failed")
        (folder / "lost").rename(folder / "objects")
        assert busy.certify(ids).status_code == 202
        assert self.finished(busy, promised.headers["location"])["report"]["verdict"] == "certified"


def test_a_ledger_changed_on_the_disk_is_never_judged(service: Service, world: World) -> None:
    ids = service.submit(world)
    digest = world.run("attacked")["episodes"]["digest"].removeprefix("sha256:")
    other = world.run("baseline")["episodes"]["digest"].removeprefix("sha256:")
    objects = service.app.state.services.settings.data_dir / "objects"
    target = objects / digest[:2] / digest[2:]
    target.unlink()
    target.write_bytes((objects / other[:2] / other[2:]).read_bytes())
    problem_in(service.certify(ids), 500, "internal-error")
    target.unlink()
    problem_in(service.certify(ids), 500, "internal-error")
