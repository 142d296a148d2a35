"""What was once open, and has to stay shut."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.access.filled import MINE, OTHER, Filled
from tests.service.serving import Service, problem_in


def test_single_outcomes_of_private_episodes_are_shown_nowhere(filled: Filled) -> None:
    closed, published = filled.ids["closed certificate"], filled.ids["published certificate"]
    for path in ("flips", "cells"):
        problem_in(filled.call(None, "GET", f"/v1/certificates/{closed}/{path}"), 403, "episodes-private")
        assert filled.call(filled.tokens[OTHER, "reader"], "GET", f"/v1/certificates/{closed}/{path}").status_code == 200
        assert filled.call(None, "GET", f"/v1/certificates/{published}/{path}").status_code == 200
    for left, right in ((published, closed), (closed, published)):
        found = filled.call(None, "GET", f"/v1/comparisons?left={left}&right={right}").json()
        assert found["flips"]["utility_under_attack"]["both"] > 0
        assert [table["cells"] for table in found["flips"].values()] == [[], []]
        assert any("single flips are not shown" in caution for caution in found["cautions"])
    for path in (f"/certificates/{closed}", f"/certificates/{closed}/cells"):
        assert filled.call(None, "GET", path).status_code in (200, 403)


def test_a_note_on_what_is_private_is_private(fresh: Filled) -> None:
    reviewer = fresh.tokens[OTHER, "reviewer"]
    for state in ("private", "published"):
        body = {"reason": "submitter-request", "note": f"a word on the {state} one"}
        assert fresh.call(reviewer, "POST", f"/v1/certificates/{fresh.ids[f'{state} certificate']}/revoke", body).status_code == 201
    items = fresh.call(None, "GET", "/v1/log/entries?limit=1000").json()["items"]
    changes = [item for item in items if item["entry"]["kind"] == "status"]
    assert [item["envelope"] is None for item in changes] == [True, False]
    own = fresh.call(reviewer, "GET", "/v1/log/entries?limit=1000").json()["items"]
    assert all(item["envelope"] is not None for item in own if item["entry"]["kind"] == "status")


def test_what_rests_on_a_run_is_listed_for_those_who_may_read_it(fresh: Filled) -> None:
    runs = {role: fresh.ids[f"published {role}"] for role in ("benign", "attacked", "baseline")}
    second = fresh.done(fresh.tokens[OTHER, "submitter"], "POST", "/v1/certifications", {**runs, "policy": "transcript/1"})["id"]
    published = fresh.ids["published certification"]
    assert second != published
    for role, run in runs.items():
        for token, expected in ((None, {published}), (fresh.tokens[MINE, "admin"], {published}), (fresh.tokens[OTHER, "reader"], {published, second})):
            items = fresh.call(token, "GET", f"/v1/certifications?run={run}").json()["items"]
            assert {item["id"] for item in items} == expected, role
            page = fresh.call(token, "GET", f"/runs/{run}", Accept="text/html").text
            assert published in page
            assert (second in page) == (second in expected)
    for role in runs:
        private = fresh.ids[f"private {role}"]
        for token in (None, fresh.tokens[MINE, "admin"]):
            problem_in(fresh.call(token, "GET", f"/v1/certifications?run={private}"), 404, "unknown-run")
        own = fresh.call(fresh.tokens[OTHER, "reader"], "GET", f"/v1/certifications?run={private}").json()["items"]
        assert [item["id"] for item in own] == [fresh.ids["private certification"]]


def test_a_key_that_ends_begets_none_that_outlives_it(fresh: Filled) -> None:
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    parent = fresh.done(fresh.tokens[MINE, "reviewer"], "POST", "/v1/keys", {"label": "an hour", "expires_at": ends})
    for asked in ({}, {"expires_at": (datetime.now(UTC) + timedelta(days=9)).isoformat()}):
        child = fresh.done(parent["token"], "POST", "/v1/keys", {"label": "longer?", **asked})
        assert child["expires_at"] == parent["expires_at"]


def test_a_narrow_key_ends_no_wider_one(fresh: Filled) -> None:
    admin, full = fresh.tokens[MINE, "admin"], fresh.ids["admin key of local"]
    narrow = fresh.done(admin, "POST", "/v1/keys", {"label": "reads", "scopes": ["read"]})
    problem_in(fresh.call(narrow["token"], "DELETE", f"/v1/keys/{full}"), 403, "not-permitted")
    assert fresh.call(admin, "GET", "/v1/me").status_code == 200
    assert fresh.call(narrow["token"], "DELETE", f"/v1/keys/{narrow['id']}").status_code == 200
    people = fresh.done(admin, "POST", "/v1/keys", {"label": "people", "scopes": ["read", "administer"]})
    assert fresh.done(people["token"], "POST", "/v1/keys", {"label": "full?"})["scopes"] == ["read", "administer"]


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Host": "evil.example:8000"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_without_sign_in_only_this_machines_own_pages_are_answered(tmp_path: Path, headers: dict[str, str]) -> None:
    service = Service.at(tmp_path / "data")
    problem_in(service.get("/v1/me", headers), 403, "not-from-here")
    for host in ("127.0.0.1:8000", "localhost:1", "[::1]:8000"):
        assert service.get("/v1/me", {"Host": host, "Origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_times_beyond_the_calendar_are_refused(tmp_path: Path, time: str) -> None:
    service = Service.at(tmp_path / "data")
    for name in ("since", "until"):
        assert service.get(f"/v1/history?suite=x&{name}={time.replace('+', '%2B')}").status_code == 422
    assert service.post("/v1/keys", {"label": "x", "expires_at": time}).status_code == 422
    assert service.get("/history", suite="x", since=time).status_code in (200, 404, 422)


@pytest.mark.parametrize("odd", [{"deff": 1_000_000}, {"difference": 1e-308}, {"half_width": 1e-308}])
def test_plans_beyond_what_can_be_worked_out_are_refused(filled: Filled, odd: dict[str, float]) -> None:
    body = {"schema": "pairmark/plan-request/v1", "pilot": filled.ids["published certificate"], **odd}
    answer = filled.call(None, "POST", "/v1/plans", body)
    assert answer.status_code in (200, 422), answer.text


def test_what_stands_in_anothers_place_is_seen_and_ones_own(fresh: Filled) -> None:
    place = f"/v1/certificates/{fresh.ids['published certificate']}/supersede"
    hidden = {"reason": "submitter-request", "by": fresh.ids["private certificate"]}
    problem_in(fresh.call(fresh.tokens[MINE, "reviewer"], "POST", place, hidden), 404, "unknown-certificate")
    assert fresh.call(fresh.tokens[OTHER, "reviewer"], "POST", place, {**hidden, "by": fresh.ids["closed certificate"]}).status_code == 201
