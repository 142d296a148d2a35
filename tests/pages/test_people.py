"""Where sign-in is on: signing in, members, keys, the audit log, and a disproof from the review queue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from pairmark.http.access import COOKIE, first_admin_key
from pairmark.http.app import create_app, let_go
from pairmark.http.settings import Settings
from tests.pages.filling import Filled, fill_with_examples, listening
from tests.pages.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A service that wants keys, with a quarantined pair and one admin, whose key is `ids["key"]`."""
    folder: Path = tmp_path_factory.mktemp("people")
    with listening(folder) as service:
        fill_with_examples(service, ["quarantined"])
    app = create_app(Settings(data_dir=folder, sign_in="required"))
    services = app.state.services
    key = first_admin_key(services.database, services.new_id, services.clock)
    let_go(app)
    assert key is not None
    with listening(folder, sign_in="required") as found:
        found.ids.update({**service.ids, "key": key})
        yield found


def test_a_reviewer_signs_in_and_answers_what_is_held(browser: Browser, closed: Filled) -> None:
    with watched(browser, closed.url) as tab:
        page = tab.open("/people")
        assert page.get_by_role("heading", level=1).inner_text() == "Sign in"
        tab.require_sound()
        tab.expected_status = 401
        page.get_by_label("API key").fill("pmk0.not-a-key")
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        assert page.get_by_role("heading", level=1).inner_text() == "Sign in first"
        assert COOKIE not in {cookie.get("name") for cookie in page.context.cookies()}
        page.get_by_label("API key").fill(closed["key"])
        tab.expected_status = 200
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        assert "administer" in page.locator(".lead").inner_text()
        assert page.evaluate("document.cookie") == ""
        for heading, shown in (("Members and roles", "first admin"), ("API keys", "made by the operator")):
            assert page.locator("section", has_text=heading).get_by_text(shown).count() >= 1
        assert "POST" in page.locator("section", has_text="Audit log").inner_text()
        tab.require_sound(accessible=True)

        page.locator("section", has_text="Waiting for a reviewer").locator("tbody a").first.click()
        tab.require_sound()
        page.get_by_label("why the innocent explanations are excluded").fill("The benign arm met a slower provider; see the files.")
        page.get_by_label("digests of the files").fill(f"sha256:{'c' * 64}")
        page.get_by_label("your API key").fill(closed["key"])
        page.get_by_role("button", name="Record the disproof").click()
        page.wait_for_url(lambda address: "/certifications/" in address and closed["quarantined"] not in address)
        assert page.locator(".verdict-word").inner_text() in ("✓ CERTIFIED", "‖ QUARANTINED", "✗ REFUSED")
        assert page.get_by_text("with a reviewer's evidence").count() == 1
        assert closed["quarantined"][:22] in page.locator("main").inner_text()
        tab.require_sound()
        page = tab.open("/people")
        assert "No pair is held" in page.locator("section", has_text="Waiting for a reviewer").inner_text()
        page.get_by_role("button", name="Sign out").click()
        assert page.url.rstrip("/") == closed.url
        assert page.context.cookies() == []
        tab.require_sound()


def test_a_key_in_a_cookie_is_taken_for_pages_only(closed: Filled) -> None:
    cookies = {"Cookie": f"{COOKIE}={closed['key']}", "Accept": "text/html"}
    assert "Members and roles" in httpx.get(f"{closed.url}/people", headers=cookies).text
    assert httpx.get(f"{closed.url}/v1/members", headers=cookies).status_code == 401


def test_signing_in_refuses_what_is_no_key_and_what_another_site_sends(closed: Filled) -> None:
    for form in ({}, {"key": ""}, {"key": "a b"}, {"key": "é"}, {"key": "x" * 5000}):
        assert httpx.post(f"{closed.url}/sign-in", data=form).status_code == 422, form
    assert httpx.post(f"{closed.url}/sign-in", content=b"key=" + b"x" * 20_000).status_code == 413
    for path in ("/sign-in", "/sign-out"):
        refused = httpx.post(closed.url + path, data={"key": "pmk"}, headers={"Sec-Fetch-Site": "cross-site"})
        assert refused.status_code == 403
        assert "set-cookie" not in refused.headers
    kept = httpx.post(f"{closed.url}/sign-in", data={"key": "pmk0.x"})
    assert "HttpOnly" in kept.headers["set-cookie"]
    assert "samesite=strict" in kept.headers["set-cookie"].lower()


def test_a_member_without_the_permission_sees_no_audit_log_and_no_form(browser: Browser, closed: Filled) -> None:
    def post(path: str, value: dict[str, object]) -> dict[str, str]:
        answer = httpx.post(closed.url + path, json=value, headers={"Authorization": f"Bearer {closed['key']}"})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    member = post("/v1/members", {"name": "<b>Reader</b>", "roles": ["reader"]})
    key = post("/v1/keys", {"label": "reads", "member": member["id"]})["token"]
    headers = {"Cookie": f"{COOKIE}={key}", "Accept": "text/html"}
    people = httpx.get(f"{closed.url}/people", headers=headers).text
    assert "&lt;b&gt;Reader&lt;/b&gt;" in people
    assert "Audit log" not in people
    assert "made by the operator" not in people
    held = httpx.get(f"{closed.url}/certifications/{closed['quarantined']}", headers=headers).text
    assert "QUARANTINED" in held
    assert "Record the disproof" not in held


def test_members_and_keys_come_in_parts(closed: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interface gives them whole, so that a page of a large organisation would have no bound."""
    sent = {"Authorization": f"Bearer {closed['key']}"}
    for number in range(2):
        member = httpx.post(f"{closed.url}/v1/members", json={"name": f"Part {number}", "roles": ["reader"]}, headers=sent).json()["id"]
        httpx.post(f"{closed.url}/v1/keys", json={"label": f"key {number}", "member": member}, headers=sent).raise_for_status()
    monkeypatch.setattr("pairmark.http.pages.routes.people.MEMBERS", 1)
    monkeypatch.setattr("pairmark.http.pages.routes.people.KEYS", 1)
    cookies = {"Cookie": f"{COOKIE}={closed['key']}", "Accept": "text/html"}
    for kind in ("members", "keys"):
        ids = [one["id"] for one in httpx.get(f"{closed.url}/v1/{kind}", headers=sent).json()["items"]]
        path: str | None = "/people"
        seen, section = [], ""
        while path is not None:
            page = httpx.get(closed.url + path, headers=cookies).text
            section = page[page.index(f'id="{kind}"') :].partition("</section>")[0]
            seen += [one for one in ids if f'title="{one}"' in section.partition("<tbody>")[2].partition("</tbody>")[0]]
            following = re.search(r'rel="next" href="([^"#]+)', section)
            path = None if following is None else following[1]
        assert seen == ids
        assert 'rel="prev"' in section
