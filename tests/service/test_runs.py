from __future__ import annotations

from pairmark.domain.canonical import digest_of
from pairmark.domain.world import World
from pairmark.http.models import RunAnswer
from tests.service.serving import Service, announced, problem_in


def test_an_announced_run_is_marked_so_and_one_with_results_as_after_the_fact(service: Service, world: World) -> None:
    service.register(world)
    before = RunAnswer.model_validate_json(service.post("/v1/runs", announced(world.run("benign"))).content)
    after = RunAnswer.model_validate_json(service.post("/v1/runs", world.run("benign")).content)
    assert (before.state, before.after_the_fact) == ("announced", False)
    assert (after.state, after.after_the_fact) == ("announced", True)
    assert before.episodes is None
    assert before.id != after.id


def test_every_announcement_is_a_run_of_its_own(service: Service, world: World) -> None:
    service.register(world)
    ids = {service.post("/v1/runs", announced(world.run("benign"))).json()["id"] for _ in range(3)}
    assert len(ids) == 3


def test_a_complete_document_handed_in_again_is_the_same_run(service: Service, world: World) -> None:
    service.register(world)
    first, second = (service.post("/v1/runs", world.run("benign")) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()


def test_a_run_of_an_unregistered_suite_is_refused(service: Service, world: World) -> None:
    problem = problem_in(service.post("/v1/runs", world.run("benign")), 422, "unknown-suite")
    assert problem.errors[0].pointer == "/suite/digest"
    digest = service.register(world)
    manifest = service.get("/v1/suites").json()["items"][0]["manifest"]
    cites_manifest = world.edit_run("benign", "/suite/digest", manifest).run("benign")
    assert manifest != digest
    problem_in(service.post("/v1/runs", cites_manifest), 422, "unknown-suite")


def test_what_was_null_may_be_supplied_and_nothing_else(service: Service, world: World) -> None:
    service.register(world)
    full = world.run("attacked")
    run_id = service.post("/v1/runs", announced(full)).json()["id"]
    for pointer, value in (("/system/decoding/temperature", 0.5), ("/attack/name", "another"), ("/arm", "benign")):
        problem = problem_in(service.put(f"/v1/runs/{run_id}", world.edit_run("attacked", pointer, value).run("attacked")), 409, "differs-from-announced")
        assert [item.pointer for item in problem.errors] == [pointer]
    supplied = service.put(f"/v1/runs/{run_id}", full)
    assert supplied.status_code == 200
    answer = RunAnswer.model_validate_json(supplied.content)
    assert (answer.digest, answer.announcement) == (digest_of(full), digest_of(announced(full)))
    assert service.put(f"/v1/runs/{run_id}", full).json() == supplied.json()
    assert service.get(f"/v1/runs/{run_id}").json() == supplied.json()
    problem_in(service.put(f"/v1/runs/{run_id}", announced(full)), 409, "differs-from-announced")


def test_several_places_that_differ_are_all_named(service: Service, world: World) -> None:
    service.register(world)
    run_id = service.post("/v1/runs", world.run("attacked")).json()["id"]
    changed = world.edit_run("attacked", "/arm", "benign").edit_run("attacked", "/attack", None).run("attacked")
    problem = problem_in(service.put(f"/v1/runs/{run_id}", changed), 409, "differs-from-announced")
    assert [item.pointer for item in problem.errors] == ["/arm", "/attack"]


def test_a_sealed_run_never_changes_and_is_cached(service: Service, world: World) -> None:
    service.register(world)
    run = world.run("benign")
    run_id = service.seal(run, world.files()["benign/episodes.jsonl"])
    assert service.put(f"/v1/runs/{run_id}", run).status_code == 200
    problem_in(service.put(f"/v1/runs/{run_id}", world.edit_run("benign", "/started_at", None).run("benign")), 409, "run-sealed")
    answer = service.get(f"/v1/runs/{run_id}")
    assert answer.json()["state"] == "sealed"
    assert answer.json()["run"] == run
    assert answer.headers["etag"] == f'"{digest_of(run)}"'
    assert service.get(f"/v1/runs/{run_id}", {"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_an_announced_run_is_not_cached(service: Service, world: World) -> None:
    service.register(world)
    run_id = service.post("/v1/runs", world.run("benign")).json()["id"]
    answer = service.get(f"/v1/runs/{run_id}")
    assert "etag" not in answer.headers
    assert answer.headers["cache-control"] == "no-cache"


def test_an_unknown_run_is_404(service: Service, world: World) -> None:
    problem_in(service.get("/v1/runs/run-0"), 404, "unknown-run")
    problem_in(service.put("/v1/runs/run-0", world.run("benign")), 404, "unknown-run")


def test_the_same_key_gives_the_same_run(service: Service, world: World) -> None:
    service.register(world)
    body = announced(world.run("benign"))
    first, second = (service.post("/v1/runs", body, Idempotency_Key="a-key") for _ in range(2))
    assert first.content == second.content
    assert (first.status_code, second.status_code) == (201, 201)
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    problem_in(service.post("/v1/runs", world.run("benign"), Idempotency_Key="a-key"), 409, "idempotency-key-reused")
    problem_in(service.post("/v1/suites", world.suite_manifest(), Idempotency_Key="a-key"), 409, "idempotency-key-reused")
