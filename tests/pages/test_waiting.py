"""A certification that is too large to wait for, looked at while it waits, is worked on, is cancelled, or comes to nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from pairmark.app import work_off
from pairmark.domain.evidence import Role
from pairmark.domain.world import World
from pairmark.http.access import COOKIE, first_admin_key
from pairmark.http.app import create_app, let_go
from pairmark.http.settings import Settings
from tests.jobs.holding import held_at, until
from tests.pages.filling import Filled, listening
from tests.pages.test_answers import HTML, get
from tests.pages.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROLES: tuple[Role, ...] = ("benign", "attacked", "baseline")


@dataclass
class Queue:
    """A service that queues everything, and whose worker stops before the rules of each certification until it is let go."""

    service: Filled
    at_rules: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    breaks: bool = False

    def arrived(self) -> None:
        self.at_rules.set()
        if self.breaks:
            raise RuntimeError("a secret place")

    def ask(self, policy: str = "standard/1") -> str:
        """Queue a certification of the one pair under a policy; its page."""
        runs = {role: self.service[f"own {role}"] for role in ROLES}
        answer = self.service.post("/v1/certifications", {**runs, "policy": policy})
        assert answer["state"] == "waiting"
        return f"/certifications/{answer['id']}"

    def run(self, policy: str = "standard/1") -> str:
        """The same, when it is being worked on."""
        path = self.ask(policy)
        until(self.at_rules.is_set)
        return path


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    found = Queue(Filled("", {}))
    monkeypatch.setattr(work_off, "_Watch", held_at("rules", found.arrived, found.go.is_set))
    world = World()
    with listening(tmp_path, wait_episodes=10) as service:
        found.service = service
        service.register(world.suite_manifest())
        files = world.files()
        for role in ROLES:
            service.ids[f"own {role}"] = service.hand_in(world.run(role), files[f"{role}/episodes.jsonl"])
        yield found
        found.go.set()


def test_one_waits_and_one_is_worked_on_until_its_verdict_is_there(browser: Browser, queue: Queue) -> None:
    running, waiting = queue.run(), queue.ask("transcript/1")
    with watched(browser, queue.service.url) as tab:
        page = tab.open(waiting, 202)
        assert page.locator(".verdict-word").inner_text() == "Waiting for its turn"
        assert "Nobody works on it yet" in page.locator("#state").inner_text()
        assert page.locator("progress").get_attribute("value") == "0"
        tab.require_sound(accessible=True)
        page = tab.open(running, 202)
        assert page.title().startswith("Being judged")
        progress = queue.service.get(f"/v1{running}")["progress"]
        assert progress["stage"] == "rules"
        assert page.locator("progress").get_attribute("value") == str(progress["percent"])
        said = page.locator("#state").inner_text().replace("\N{NO-BREAK SPACE}", " ")
        assert f"About {progress['percent']} % done; now applying the rules, 0 of {progress['steps']} done." in said
        tab.require_sound(accessible=True)
        for role in ROLES:
            assert page.locator(f'dd a[href="/runs/{queue.service[f"own {role}"]}"]').count() == 1
        queue.go.set()
        page.locator(".verdict-word", has_text="CERTIFIED").wait_for(timeout=30_000)
        tab.require_sound()


def test_what_waits_and_what_is_worked_on_is_cancelled_by_a_button(browser: Browser, queue: Queue) -> None:
    running, waiting = queue.run(), queue.ask("transcript/1")
    for path in (waiting, running):
        with watched(browser, queue.service.url, width=390) as tab:
            page = tab.open(path, 202)
            tab.expected_status = 410
            page.get_by_role("button", name="Cancel this certification").click()
            page.locator(".verdict-word", has_text="Cancelled").wait_for()
            assert "no verdict" in page.locator("#state").inner_text()
            assert page.get_by_role("button", name="Cancel this certification").count() == 0
            tab.require_sound(accessible=True)
        assert httpx.get(f"{queue.service.url}/v1{path}").status_code == 410
    queue.go.set()


@pytest.mark.slow
def test_a_verdict_that_came_before_the_button_was_pressed_is_shown(browser: Browser, queue: Queue) -> None:
    running = queue.run()
    with watched(browser, queue.service.url) as tab:
        page = tab.open(running, 202)
        tab.expected_status = 409
        queue.go.set()
        until(lambda: httpx.get(f"{queue.service.url}/v1{running}").status_code == 200)
        cancel = page.get_by_role("button", name="Cancel this certification")
        if cancel.count():  # it looks again by itself
            cancel.click()
        page.locator(".verdict-word", has_text="CERTIFIED").wait_for()
        assert tab.complaints == []


def test_what_came_to_nothing_says_so_and_tells_nothing_of_the_inside(browser: Browser, queue: Queue) -> None:
    queue.breaks = True
    failed = queue.run()
    until(lambda: get(queue.service, failed).status_code == 500)
    with watched(browser, queue.service.url, width=390) as tab:
        page = tab.open(failed, 500)
        assert page.locator(".verdict-word").inner_text() == "No verdict"
        assert "secret place" not in page.content()
        assert page.locator("[data-again], progress, form.cancel").count() == 0
        tab.require_sound(accessible=True)
    assert httpx.get(f"{queue.service.url}/v1{failed}").status_code == 500


def test_without_scripts_it_says_how_to_look_again_and_to_cancel(browser: Browser, queue: Queue) -> None:
    waiting = queue.run()
    with watched(browser, queue.service.url, scripts=False) as tab:
        page = tab.open(waiting, 202)
        assert page.get_by_role("button", name="Cancel this certification").count() == 0
        assert f"DELETE /v1{waiting}" in page.locator("noscript").inner_text()
        page.get_by_role("link", name="look now").click()
        assert page.locator(".verdict-word").inner_text() == "Being judged"


def test_a_page_that_waits_is_asked_again_soon_and_others_are_not(queue: Queue) -> None:
    waiting = get(queue.service, queue.run())
    assert (waiting.status_code, waiting.headers["retry-after"], waiting.headers["cache-control"]) == (202, "2", "no-cache")
    httpx.delete(f"{queue.service.url}/v1{waiting.url.path}", headers=HTML)
    cancelled = get(queue.service, waiting.url.path)
    assert cancelled.status_code == 410
    assert "retry-after" not in cancelled.headers


@pytest.mark.slow
def test_where_sign_in_is_on_it_is_cancelled_with_a_key_that_may_submit(browser: Browser, queue: Queue, tmp_path: Path) -> None:
    waiting = queue.run()
    app = create_app(Settings(data_dir=tmp_path, sign_in="required"))
    services = app.state.services
    admin = first_admin_key(services.database, services.new_id, services.clock)
    let_go(app)
    assert admin is not None
    with listening(tmp_path, sign_in="required", wait_episodes=10) as closed:

        def key_of(role: str) -> str:
            headers = {"Authorization": f"Bearer {admin}"}
            member = httpx.post(f"{closed.url}/v1/members", json={"name": role, "roles": [role]}, headers=headers).json()["id"]
            return str(httpx.post(f"{closed.url}/v1/keys", json={"label": role, "member": member}, headers=headers).json()["token"])

        reader, submitter = key_of("reader"), key_of("submitter")
        assert get(closed, waiting).status_code == 404
        assert "Cancel this certification" not in get(closed, waiting, Cookie=f"{COOKIE}={reader}").text
        with watched(browser, closed.url, width=390) as tab:
            tab.page.context.add_cookies([{"name": COOKIE, "value": submitter, "url": closed.url}])
            page = tab.open(waiting, 202)
            tab.expected_status = 410  # and 403, of a key that may not
            button = page.get_by_role("button", name="Cancel this certification")
            page.get_by_label("your API key").fill(reader)
            button.click()
            page.locator(".cancel-says", has_text="submit").wait_for()
            page.wait_for_timeout(3500)  # it looks again meanwhile, and keeps what is typed
            assert page.get_by_label("your API key").input_value() == reader
            tab.require_sound(accessible=True)
            page.get_by_label("your API key").fill(submitter)
            button.click()
            page.locator(".verdict-word", has_text="Cancelled").wait_for()
        assert httpx.get(f"{closed.url}/v1{waiting}", headers={"Authorization": f"Bearer {reader}"}).status_code == 410
