"""Keys: shown once, stored hashed, narrowed, expiring, revoked. Members: added, changed, gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from pairmark.domain.access import PERMISSIONS
from pairmark.http.access import first_admin_key
from tests.access.filled import MINE, OTHER, Filled
from tests.service.serving import Service, problem_in


def test_a_key_says_who_calls(filled: Filled) -> None:
    me = filled.call(filled.tokens[OTHER, "reviewer"], "GET", "/v1/me").json()
    assert (me["via"], me["organisation"], me["member"]) == ("key", filled.call(filled.tokens[OTHER, "reader"], "GET", "/v1/me").json()["organisation"], filled.ids["reviewer of other"])
    assert me["permissions"] == ["read", "review"]
    assert filled.call(None, "GET", "/v1/me").json() == {"via": "anonymous", "organisation": None, "member": None, "key": None, "permissions": []}


@pytest.mark.parametrize(
    "said",
    [
        "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Bearer pmk", "Bearer pmk.", "Bearer pmk..", "Bearer pmk.key-0.x", "Bearer x.y.z",
        "bearer pmk.key-" + "0" * 5000 + ".s", "Bearer pmk.\x7f.\x7f",
    ],
)
def test_what_is_no_key_is_refused_alike(filled: Filled, said: str) -> None:
    answer = filled.service.call("GET", "/v1/me", headers={"Authorization": said})
    assert answer.headers["www-authenticate"].startswith("Bearer")
    problem_in(answer, 401, "bad-credentials")


def test_a_wrong_secret_is_refused(filled: Filled) -> None:
    token = filled.tokens[MINE, "admin"]
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    problem_in(filled.call(wrong, "GET", "/v1/me"), 401, "bad-credentials")


def test_secrets_are_stored_as_digests_only(fresh: Filled) -> None:
    parts = fresh.service.app.state.services
    with parts.database.engine.connect() as connection:
        stored = " ".join(str(row) for table in ("api_keys", "audit_log", "idempotency_keys") for row in connection.execute(text(f"SELECT * FROM {table}")))
    for token in fresh.tokens.values():
        assert token.rpartition(".")[2] not in stored


def test_a_replayed_key_has_no_token(fresh: Filled) -> None:
    admin = fresh.tokens[MINE, "admin"]
    body = {"label": "again", "member": fresh.ids["reviewer of local"]}
    first = fresh.call(admin, "POST", "/v1/keys", body, Idempotency_Key="one")
    again = fresh.call(admin, "POST", "/v1/keys", body, Idempotency_Key="one")
    assert first.headers["cache-control"] == "no-store"
    assert again.headers["idempotency-replayed"] == "true"
    assert {**first.json(), "token": None} == again.json()
    assert fresh.call(first.json()["token"], "GET", "/v1/me").json()["member"] == body["member"]


def test_another_caller_does_not_share_idempotency_keys(fresh: Filled) -> None:
    ours = fresh.call(fresh.tokens[MINE, "admin"], "POST", "/v1/members", {"name": "one", "roles": ["reader"]}, Idempotency_Key="same")
    theirs = fresh.call(fresh.tokens[OTHER, "admin"], "POST", "/v1/members", {"name": "one", "roles": ["reader"]}, Idempotency_Key="same")
    assert (ours.status_code, theirs.status_code) == (201, 201)
    assert ours.json()["organisation"] != theirs.json()["organisation"]


def test_scopes_narrow_and_never_widen(fresh: Filled) -> None:
    admin = fresh.tokens[MINE, "admin"]
    narrow = fresh.done(admin, "POST", "/v1/keys", {"label": "reads", "member": fresh.ids["admin of local"], "scopes": ["read"]})["token"]
    assert fresh.call(narrow, "GET", "/v1/me").json()["permissions"] == ["read"]
    problem_in(fresh.call(narrow, "POST", "/v1/members", {"name": "x", "roles": ["reader"]}), 403, "not-permitted")
    begotten = fresh.done(narrow, "POST", "/v1/keys", {"label": "wider?", "scopes": list(PERMISSIONS)})
    assert begotten["scopes"] == ["read"]
    wide = fresh.done(admin, "POST", "/v1/keys", {"label": "all", "member": fresh.ids["member of local"], "scopes": list(PERMISSIONS)})["token"]
    assert fresh.call(wide, "GET", "/v1/me").json()["permissions"] == ["read"]


def test_a_key_is_ones_own_to_make_unless_one_is_an_admin(fresh: Filled) -> None:
    answer = fresh.call(fresh.tokens[MINE, "reviewer"], "POST", "/v1/keys", {"label": "x", "member": fresh.ids["admin of local"]})
    problem_in(answer, 403, "not-permitted")
    answer = fresh.call(fresh.tokens[OTHER, "admin"], "POST", "/v1/keys", {"label": "x", "member": fresh.ids["admin of local"]})
    problem_in(answer, 404, "unknown-member")
    mine = fresh.done(fresh.tokens[MINE, "reviewer"], "POST", "/v1/keys", {"label": "mine"})
    assert mine["member"] == fresh.ids["reviewer of local"]


def test_keys_expire_and_are_revoked(fresh: Filled) -> None:
    admin = fresh.tokens[MINE, "admin"]
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    problem_in(fresh.call(admin, "POST", "/v1/keys", {"label": "late", "expires_at": past}), 422, "already-expired")
    soon = (datetime.now(UTC) + timedelta(seconds=1.5)).isoformat()
    made = fresh.done(admin, "POST", "/v1/keys", {"label": "soon", "expires_at": soon})
    assert fresh.call(made["token"], "GET", "/v1/me").status_code == 200
    kept = fresh.done(admin, "POST", "/v1/keys", {"label": "kept"})
    ended = fresh.done(admin, "DELETE", f"/v1/keys/{kept['id']}")
    assert ended["revoked_at"] is not None
    assert fresh.done(admin, "DELETE", f"/v1/keys/{kept['id']}") == ended
    problem_in(fresh.call(kept["token"], "GET", "/v1/me"), 401, "bad-credentials")
    problem_in(fresh.call(fresh.tokens[OTHER, "admin"], "DELETE", f"/v1/keys/{kept['id']}"), 404, "unknown-key")
    until = datetime.fromisoformat(soon)
    while datetime.now(UTC) <= until:
        pass
    problem_in(fresh.call(made["token"], "GET", "/v1/me"), 401, "bad-credentials")


def test_a_members_last_use_is_noted(fresh: Filled) -> None:
    fresh.call(fresh.tokens[MINE, "reader"], "GET", "/v1/me")
    items = fresh.call(fresh.tokens[MINE, "admin"], "GET", "/v1/keys").json()["items"]
    used = {item["id"]: item["last_used_at"] for item in items}
    assert used[fresh.ids["key of local"]] is not None


def test_who_leaves_comes_in_no_more(fresh: Filled) -> None:
    admin = fresh.tokens[OTHER, "admin"]
    fresh.done(admin, "DELETE", f"/v1/members/{fresh.ids['reviewer of other']}")
    problem_in(fresh.call(fresh.tokens[OTHER, "reviewer"], "GET", "/v1/me"), 401, "bad-credentials")
    problem_in(fresh.call(admin, "DELETE", f"/v1/members/{fresh.ids['admin of other']}"), 409, "last-admin")
    problem_in(fresh.call(admin, "POST", "/v1/keys", {"label": "x", "member": fresh.ids["reviewer of other"]}), 409, "member-left")


def test_a_member_changes_only_as_it_was_read(fresh: Filled) -> None:
    admin, place = fresh.tokens[OTHER, "admin"], f"/v1/members/{fresh.ids['member of other']}"
    tag = fresh.call(admin, "GET", place).headers["etag"]
    problem_in(fresh.call(admin, "PATCH", place, {"roles": ["reviewer"]}), 428, "if-match-missing")
    changed = fresh.call(admin, "PATCH", place, {"roles": ["submitter", "reader"]}, If_Match=tag)
    assert changed.json()["roles"] == ["reader", "submitter"]
    problem_in(fresh.call(admin, "PATCH", place, {"roles": ["reviewer"]}, If_Match=tag), 412, "changed-meanwhile")
    assert fresh.call(fresh.tokens[OTHER, "reader"], "GET", "/v1/me").json()["permissions"] == ["read", "submit"]


def test_every_change_is_in_the_audit_log(fresh: Filled) -> None:
    admin, place = fresh.tokens[OTHER, "admin"], f"/v1/members/{fresh.ids['member of other']}"
    tag = fresh.call(admin, "GET", place).headers["etag"]
    fresh.call(admin, "PATCH", place, {"name": "somebody else"}, If_Match=tag)
    newest = fresh.call(admin, "GET", "/v1/audit?limit=1").json()["items"][0]
    assert newest["action"] == "PATCH /v1/members/{member_id}"
    assert (newest["member"], newest["via"], newest["address"] is not None) == (fresh.ids["admin of other"], "key", True)
    assert newest["changes"] == [{"table": "members", "row": fresh.ids["member of other"], "before": {"name": "reader of other"}, "after": {"name": "somebody else"}}]
    seen: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = fresh.call(admin, "GET", f"/v1/audit?limit=7{cursor and '&cursor=' + cursor}").json()
        seen += page["items"]
        cursor = page["next"]
    actions = [item["action"] for item in seen]
    assert actions.count("PUT /v1/runs/{run_id}/episodes") == 9
    assert actions.count("POST /v1/certificates/{certificate_id}/publish") == 2
    assert len({item["id"] for item in seen}) == len(seen)
    assert {item["organisation"] for item in seen} == {newest["organisation"]}
    with fresh.service.app.state.services.database.engine.connect() as connection, pytest.raises(Exception, match="append-only"):
        connection.execute(text("DELETE FROM audit_log"))


def test_the_first_start_makes_one_admin_once(tmp_path: Path) -> None:
    service = Service.at(tmp_path / "data", sign_in="required")
    parts = service.app.state.services
    first = first_admin_key(parts.database, parts.new_id, parts.clock)
    assert first is not None
    assert first_admin_key(parts.database, parts.new_id, parts.clock) is None
    me = service.get("/v1/me", {"Authorization": f"Bearer {first}"}).json()
    assert me["permissions"] == list(PERMISSIONS)


def test_on_loopback_no_key_is_needed_until_one_is_made(tmp_path: Path) -> None:
    service = Service.at(tmp_path / "data")
    assert service.get("/v1/me").json()["via"] == "local"
    made = service.post("/v1/members", {"name": "me", "roles": ["admin"]}).json()
    token = service.post("/v1/keys", {"label": "first", "member": made["id"]}).json()["token"]
    assert service.get("/v1/me").json()["via"] == "anonymous"
    problem_in(service.post("/v1/members", {"name": "x", "roles": ["admin"]}), 401, "not-signed-in")
    assert service.get("/v1/me", {"Authorization": f"Bearer {token}"}).json()["via"] == "key"


def test_an_address_that_is_not_loopback_wants_keys(tmp_path: Path) -> None:
    service = Service.at(tmp_path / "data", host="0.0.0.0")
    assert service.get("/v1/me").json()["via"] == "anonymous"


def test_requests_are_limited_by_key_and_by_address(tmp_path: Path) -> None:
    service = Service.at(tmp_path / "data", sign_in="required", requests_per_minute=3, anonymous_requests_per_minute=2)
    parts = service.app.state.services
    token = first_admin_key(parts.database, parts.new_id, parts.clock)
    statuses = [service.get("/v1/me", {"Authorization": f"Bearer {token}"}).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    answers = [service.get("/v1/me") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    problem_in(answers[-1], 429, "too-many-requests")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60


def test_private_answers_stay_out_of_shared_caches(filled: Filled) -> None:
    place = f"/v1/certificates/{filled.ids['published certificate']}"
    assert filled.call(filled.tokens[OTHER, "reader"], "GET", place).headers["cache-control"].startswith("private")
    anybody = filled.call(None, "GET", place)
    assert anybody.headers["cache-control"].startswith("public")
    assert "Authorization" in anybody.headers["vary"]
