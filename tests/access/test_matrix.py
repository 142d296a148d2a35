"""Every call of the service × every role × own and other organisation × private and published, read off the route table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.access import CARRIES, ROLES, Role
from pairmark.domain.world import World
from pairmark.http.access import NEEDS
from pairmark.http.route_table import calls_of
from tests.access.filled import MINE, OTHER, Filled, worlds

Caller = tuple[str, Role] | None
"""Organisation and role; None is nobody."""

CALLERS: tuple[Caller, ...] = (None, *((place, role) for place in (MINE, OTHER) for role in ROLES))
STATES = ("private", "published", "closed")

OBJECTS = {"run_id": "run", "certification_id": "certification", "certificate_id": "certificate"}
"""Parameters that name what belongs to an organisation. A new one has to be added here, or the test fails."""
PUBLIC = {"digest", "other", "aggregate_id", "index", "name", "asset", "version", "size", "path", "file"}
"""Parameters that name what belongs to nobody."""
OF_A_MOMENT = {"upload_id"}
"""Parameters that name what is gone once it is done: there is none in a filled service. Their own tests say who sees them."""
OF_PEOPLE = {"member_id", "key_id", "webhook_id", "delivery_id"}

BODIES: dict[str, Any] = {
    "PUT /v1/runs/{run_id}": worlds()["private"].run("attacked"),
    "PUT /v1/runs/{run_id}/episodes": b"",
    "POST /v1/runs/{run_id}/uploads": {"type": "application/x-ndjson", "size": 1, "digest": "sha256:" + "0" * 64},
    "POST /v1/runs/{run_id}/uploads/{upload_id}/seal": {},
    "POST /v1/certifications/{certification_id}/disproof": {"text": "the finding is real"},
    "POST /v1/certificates/{certificate_id}/publish": {},
    "POST /v1/certificates/{certificate_id}/revoke": {"reason": "submitter-request"},
    "POST /v1/certificates/{certificate_id}/supersede": {"reason": "submitter-request", "by": "certificate-none"},
}
HEADERS = {"PATCH /v1/runs/{run_id}/uploads/{upload_id}": {"Upload_Offset": "0", "Content_Type": "application/partial-upload"}}
_task, _injection, _epoch = worlds()["private"].frame("attacked").select("task_id", "injection_id", "epoch").row(0)
WANTED = {"/runs/{run_id}/episode": f"?task={_task}&injection={_injection}&epoch={_epoch}"}
"""Parameters that a call cannot do without."""
EPISODES = (
    "/v1/runs/{run_id}/episodes", "/runs/{run_id}/episode", "/v1/certificates/{certificate_id}/cells",
    "/v1/certificates/{certificate_id}/flips", "/certificates/{certificate_id}/cells",
)


def routes(filled: Filled) -> Iterator[tuple[str, str, set[str]]]:
    """Method, path and parameters of every call."""
    for call in calls_of(filled.service.app):
        yield call.method, call.path, set(call.parameters)


def test_every_parameter_is_known(filled: Filled) -> None:
    unknown = {name for _, _, names in routes(filled) for name in names} - OBJECTS.keys() - PUBLIC - OF_PEOPLE - OF_A_MOMENT
    assert unknown == set()


def test_needs_are_of_calls_that_there_are(filled: Filled) -> None:
    there = {(method, path) for method, path, _ in routes(filled)}
    assert set(NEEDS) - there <= {("DELETE", "/v1/certifications/{certification_id}")}


@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_nobody_makes_a_call_without_the_permission_for_it(filled: Filled, caller: Caller) -> None:
    token = None if caller is None else filled.tokens[caller]
    allowed = frozenset[str]() if caller is None else CARRIES[caller[1]]
    for (method, path), needed in NEEDS.items():
        if needed is None or needed in allowed or (method, path) not in {(m, p) for m, p, _ in routes(filled)}:
            continue
        address = path
        for name in (*OBJECTS, *OF_PEOPLE):
            address = address.replace(f"{{{name}}}", "none")
        answer = filled.call(token, method, address, {} if method in ("POST", "PUT", "PATCH") else None)
        assert answer.status_code == (401 if caller is None else 403), (method, path, caller, answer.text)
        assert answer.json()["code"] == ("not-signed-in" if caller is None else "not-permitted")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_what_is_private_is_not_there_for_others(filled: Filled, caller: Caller, state: str) -> None:
    token = None if caller is None else filled.tokens[caller]
    own = caller is not None and caller[0] == OTHER
    for method, path, names in routes(filled):
        kind = next((OBJECTS[name] for name in names if name in OBJECTS), None)
        if method != "GET" or kind is None:
            continue
        address = path
        for name in names & OBJECTS.keys():
            address = address.replace(f"{{{name}}}", filled.ids[f"{state} {OBJECTS[name]}"])
        answer = filled.call(token, method, address + WANTED.get(path, ""))
        if not own and state == "private":
            assert answer.status_code == 404, (path, caller, answer.text[:200])
        elif names & OF_A_MOMENT:
            assert answer.status_code in (401, 403, 404), (path, caller, answer.text[:200])
        elif not own and state == "closed" and path in EPISODES:
            assert answer.status_code == 403, (path, caller, answer.text[:200])
        else:
            assert answer.status_code in (200, 422), (path, caller, state, answer.text[:200])
        for secret in ("private run", "private certification", "private certificate"):
            assert own or filled.ids[secret] not in answer.text or filled.ids[secret] in address


@pytest.mark.parametrize("caller", [each for each in CALLERS if each is not None and each[0] == MINE], ids=str)
def test_nobody_changes_what_is_anothers(filled: Filled, caller: tuple[str, Role]) -> None:
    """The organisation that runs the service may end certificates of others; nothing else, and nothing that is private."""
    for method, path, names in routes(filled):
        kind = next((OBJECTS[name] for name in names if name in OBJECTS), None)
        needed = NEEDS.get((method, path))
        if kind is None or method == "GET" or needed is None or needed not in CARRIES[caller[1]]:
            continue
        for state in STATES:
            ends = path.endswith(("/revoke", "/supersede"))
            if ends and state != "private":
                continue
            address = path
            for name in names & OBJECTS.keys():
                address = address.replace(f"{{{name}}}", filled.ids[f"{state} {OBJECTS[name]}"])
            answer = filled.call(filled.tokens[caller], method, address, BODIES.get(f"{method} {path}"), **HEADERS.get(f"{method} {path}", {}))
            assert answer.status_code in ((404,) if state == "private" else (403, 404, 409, 422)), (method, path, state, answer.text[:300])


@pytest.mark.parametrize("caller", CALLERS, ids=str)
def test_lists_show_only_what_is_seen(filled: Filled, caller: Caller) -> None:
    token = None if caller is None else filled.tokens[caller]
    own = caller is not None and caller[0] == OTHER
    for method, path, names in routes(filled):
        if method != "GET" or names & (OBJECTS.keys() | OF_PEOPLE):
            continue
        address = path
        for name in names:
            address = address.replace(f"{{{name}}}", filled.ids["suite"] if name in ("digest", "other") else "0")
        if path in ("/v1/history", "/history"):
            address += f"?suite={filled.ids['suite']}"
        answer = filled.call(token, "GET", address)
        assert answer.status_code < 500, (path, answer.text[:200])
        if not own and not path.startswith(("/v1/log", "/log", "/v1/audit")):
            for what in ("private run", "private certification", "private certificate", "open run"):
                assert filled.ids[what] not in answer.text, (path, caller, what)
    page = filled.call(token, "GET", f"/v1/history?suite={filled.ids['suite']}").json()
    seen = {item["certificate"] for item in page["items"]}
    assert seen == {filled.ids[f"{state} certificate"] for state in (STATES if own else STATES[1:])}


def test_the_log_names_things_by_digest_and_id_only(filled: Filled) -> None:
    """Everybody may read and check the log; the statement that a private certificate's entry names is not shown."""
    items = filled.call(None, "GET", "/v1/log/entries?limit=1000").json()["items"]
    of_private = [item for item in items if filled.ids["private certificate"] in str(item["entry"])]
    assert len(of_private) == 1
    assert of_private[0]["envelope"] is None
    of_published = [item for item in items if filled.ids["published certificate"] in str(item["entry"])]
    assert all(item["envelope"] is not None for item in of_published)


def test_the_same_complete_run_is_each_organisations_own(fresh: Filled) -> None:
    filled = fresh
    world = worlds()["private"]
    there = filled.call(filled.tokens[OTHER, "submitter"], "POST", "/v1/runs", world.run("attacked"))
    assert (there.status_code, there.json()["id"]) == (200, filled.ids["private run"])
    made = filled.call(filled.tokens[MINE, "submitter"], "POST", "/v1/runs", world.run("attacked"))
    assert made.status_code == 201
    assert made.json()["id"] != filled.ids["private run"]
    again = filled.call(filled.tokens[MINE, "submitter"], "POST", "/v1/runs", world.run("attacked"))
    assert (again.status_code, again.json()["id"]) == (200, made.json()["id"])


def test_only_whoever_runs_the_service_ends_certificates_of_others(fresh: Filled) -> None:
    filled = fresh
    certificate = filled.ids["published certificate"]
    body = {"reason": "submitter-request"}
    answer = filled.call(filled.tokens[OTHER, "submitter"], "POST", f"/v1/certificates/{certificate}/revoke", body)
    assert answer.status_code == 403
    assert filled.call(filled.tokens[MINE, "reviewer"], "POST", f"/v1/certificates/{filled.ids['private certificate']}/revoke", body).status_code == 404
    assert filled.call(filled.tokens[MINE, "reviewer"], "POST", f"/v1/certificates/{certificate}/revoke", body).status_code == 201
    assert filled.call(filled.tokens[OTHER, "reviewer"], "POST", f"/v1/certificates/{filled.ids['closed certificate']}/revoke", body).status_code == 201
    cascade = {"reason": "suite-defect", "digest": filled.ids["suite"], "dry_run": True}
    assert filled.call(filled.tokens[OTHER, "reviewer"], "POST", "/v1/cascades", cascade).json()["code"] == "not-the-operator"
    listed = filled.call(filled.tokens[MINE, "reviewer"], "POST", "/v1/cascades", cascade).json()
    assert filled.ids["private certificate"] in listed["certificates"]


def test_without_sign_in_everything_is_as_it_was(tmp_path: Path) -> None:
    from tests.service.serving import Service

    service = Service.at(tmp_path / "data")
    ids = service.submit(World.of(tasks=12, injections=6))
    assert service.certify(ids).json()["report"]["verdict"] == "certified"
    assert service.get("/v1/me").json()["via"] == "local"
