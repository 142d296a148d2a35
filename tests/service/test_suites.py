from __future__ import annotations

import json

import pytest

from pairmark.domain.canonical import digest_of, suite_digest
from pairmark.domain.world import World
from pairmark.http.models import RegisteredSuite, SuitePage
from tests.service.serving import JSON, Service, problem_in


def test_a_new_suite_is_201_an_identical_one_200(service: Service, world: World) -> None:
    first = service.post("/v1/suites", world.suite_manifest())
    second = service.post("/v1/suites", world.suite_manifest())
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    answer = RegisteredSuite.model_validate_json(first.content)
    assert answer.digest == suite_digest(world.suite_manifest())
    assert answer.manifest == digest_of(world.suite_manifest())
    assert first.headers["location"] == f"/v1/suites/{answer.digest}"


def test_order_of_keys_and_white_space_mean_nothing(service: Service, world: World) -> None:
    manifest = world.suite_manifest()
    service.post("/v1/suites", manifest)
    written = json.dumps(dict(reversed(manifest.items())), indent=3).encode()
    assert service.call("POST", "/v1/suites", body=written, headers=JSON).status_code == 200


def test_a_label_with_other_content_is_a_conflict_that_names_the_places(service: Service, world: World) -> None:
    service.register(world)
    other = world.edit_suite("/tasks/0/checker", "sha256:" + "1" * 64).suite_manifest()
    problem = problem_in(service.post("/v1/suites", other), 409, "suite-label-taken")
    assert [item.pointer for item in problem.errors] == ["/tasks"]
    assert service.get(f"/v1/suites/{suite_digest(other)}").status_code == 404


def test_another_description_is_the_same_content_and_the_first_stays(service: Service, world: World) -> None:
    service.register(world)
    answer = service.post("/v1/suites", {**world.suite_manifest(), "description": "another"})
    assert answer.status_code == 200
    assert answer.json()["kept"] == ["description"]
    assert service.get(f"/v1/suites/{answer.json()['digest']}").json().get("description") != "another"


def test_other_probes_under_one_label_are_a_conflict_since_verdicts_use_them(service: Service, world: World) -> None:
    service.register(world)
    problem_in(service.post("/v1/suites", world.without_probe().suite_manifest()), 409, "suite-probes-differ")


def test_another_reach_is_a_note_since_no_verdict_rests_on_it(service: Service, world: World) -> None:
    digest = service.register(world)
    reach = {"reachable_pairs": "1/4", "reachable_tasks": "1/2", "delivery_ceiling": "1/2", "method": "marked"}
    probed = world.edit_suite("/probes/canary", reach).suite_manifest()
    answer = service.post("/v1/suites", probed)
    assert (answer.status_code, answer.json()["digest"], answer.json()["kept"]) == (200, digest, ["probes"])
    assert "canary" not in service.get(f"/v1/suites/{digest}").json()["probes"]
    other = service.post("/v1/suites", {**probed, "version": "probed"})
    assert (other.status_code, other.json()["digest"]) == (201, digest)
    assert service.get(f"/v1/suites/{other.json()['manifest']}").json()["probes"]["canary"] == reach


def test_two_labels_of_one_content_share_its_digest(service: Service, world: World) -> None:
    digest = service.register(world)
    again = service.post("/v1/suites", {**world.suite_manifest(), "version": "v2", "description": "again"})
    assert (again.status_code, again.json()["digest"]) == (201, digest)
    assert [item["version"] for item in service.get("/v1/suites").json()["items"]] == ["v1", "v2"]
    assert service.get(f"/v1/suites/{digest}").json()["version"] == "v1"
    assert service.get(f"/v1/suites/{again.json()['manifest']}").json()["version"] == "v2"


def test_a_suite_reads_back_as_it_was_written_and_is_cached_for_ever(service: Service, world: World) -> None:
    digest = service.register(world)
    answer = service.get(f"/v1/suites/{digest}")
    assert answer.json() == world.suite_manifest()
    assert answer.headers["etag"] == f'"{digest}"'
    assert "immutable" in answer.headers["cache-control"]
    for known in (f'"{digest}"', f'W/"{digest}"', f'"x", "{digest}"', "*"):
        same = service.get(f"/v1/suites/{digest}", {"If-None-Match": known})
        assert (same.status_code, same.content) == (304, b"")
        assert same.headers["etag"] == f'"{digest}"'
    assert service.get(f"/v1/suites/{digest}", {"If-None-Match": '"another"'}).status_code == 200


def test_the_list_comes_in_pages_that_stay_in_order_under_writes(service: Service, world: World) -> None:
    for version in ("c", "a", "b"):
        service.post("/v1/suites", {**world.suite_manifest(), "version": version})
    first = SuitePage.model_validate_json(service.get("/v1/suites", limit=2).content)
    service.post("/v1/suites", {**world.suite_manifest(), "version": "0"})
    second = SuitePage.model_validate_json(service.get("/v1/suites", limit=2, cursor=first.next).content)
    assert [item.version for item in (*first.items, *second.items)] == ["c", "a", "b", "0"]
    assert second.next is None
    assert service.get("/v1/suites", name="another").json() == {"items": [], "next": None}


def test_a_cursor_is_for_its_own_list(service: Service, world: World) -> None:
    for version in ("a", "b"):
        service.post("/v1/suites", {**world.suite_manifest(), "version": version})
    cursor = service.get("/v1/suites", limit=1).json()["next"]
    problem_in(service.get("/v1/suites", limit=1, name=world.suite_manifest()["suite"], cursor=cursor), 422, "bad-cursor")


def test_a_diff_tells_what_changed(service: Service, world: World) -> None:
    left = service.register(world)
    changed = world.edit_suite("/tasks/0/checker", "sha256:" + "1" * 64).edit_suite("/version", "v2")
    right = service.register(changed)
    diff = service.get(f"/v1/suites/{left}/diff/{right}").json()
    assert [item["parts"] for item in diff["tasks"]["changed"]] == [["checker"]]
    assert diff["benign_cells"]["changed"] == 1
    assert service.get(f"/v1/suites/{left}/diff/{left}").json()["comparability"] == "same-mix"
    problem_in(service.get(f"/v1/suites/{left}/diff/sha256:{'0' * 64}"), 404, "unknown-suite")


@pytest.mark.parametrize("name", ["café", "a" * 256, "with space", "a/b/c", "%00", "漢字"])
def test_names_of_all_kinds_are_kept(service: Service, world: World, name: str) -> None:
    manifest = {**world.suite_manifest(), "suite": name}
    assert service.post("/v1/suites", manifest).status_code == 201
    assert service.get("/v1/suites", name=name).json()["items"][0]["name"] == name


def test_a_label_too_long_for_a_service_is_refused(service: Service, world: World) -> None:
    problem = problem_in(service.post("/v1/suites", {**world.suite_manifest(), "version": "v" * 257}), 422, "label-too-long")
    assert problem.errors[0].pointer == "/version"
