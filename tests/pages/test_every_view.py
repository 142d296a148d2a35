"""Every page, light and dark, wide and narrow, on paper and without scripts: sound, and whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from tests.pages.filling import Filled
from tests.pages.test_answers import paths
from tests.pages.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_pages_can_be_read_and_used_without_scripts(browser: Browser, demo: Filled) -> None:
    with watched(browser, demo.url, scripts=False, width=390) as tab:
        page = tab.open(f"/certificates/{demo['certified certificate']}")
        assert page.locator("button.copy:visible").count() == 0
        assert page.locator("table.numbers").first.is_visible()
        page.locator(".flip-lost a").click()
        assert "/cells?kind=lost" in page.url
        page = tab.open("/plan")
        before = page.locator(".figures .number").first.inner_text()
        page.get_by_label("tasks", exact=True).fill("400")
        page.get_by_role("button", name="Plan", exact=True).click()
        assert page.locator(".figures .number").first.inner_text() != before
        assert tab.complaints == []


def test_a_keyboard_reaches_the_content_first(browser: Browser, demo: Filled) -> None:
    with watched(browser, demo.url) as tab:
        page = tab.open("/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") == "q"


def test_paper_holds_the_whole_certificate(browser: Browser, demo: Filled) -> None:
    with watched(browser, demo.url, width=700) as tab:
        page = tab.open(f"/certificates/{demo['certified certificate']}")
        page.emulate_media(media="print")
        assert page.locator("nav[aria-label=Pages]").is_hidden()
        assert page.locator("button.copy:visible").count() == 0
        assert page.locator("table.numbers").first.is_visible()


def test_the_pages_people_come_for_have_no_accessibility_fault(browser: Browser, demo: Filled) -> None:
    every = paths(demo)
    with watched(browser, demo.url, width=800) as tab:
        for kind in ("start", "certificate", "refused"):
            tab.open(every[kind])
            tab.require_sound(accessible=True)


def test_only_what_scrolls_is_a_stop_of_the_keyboard(browser: Browser, demo: Filled) -> None:
    with watched(browser, demo.url, width=1280) as tab:
        page = tab.open(f"/certificates/{demo['certified certificate']}")
        assert page.locator(".wide").count() > 3
        assert page.locator(".wide[tabindex]").count() == 0
        page.set_viewport_size({"width": 300, "height": 900})
        assert page.locator(".wide[tabindex]").count() > 0
    with watched(browser, demo.url, scripts=False) as tab:
        page = tab.open(f"/certificates/{demo['certified certificate']}")
        assert page.locator(".wide").count() == page.locator(".wide[tabindex]").count()


def test_every_link_of_a_page_leads_somewhere(demo: Filled) -> None:
    from urllib.parse import urljoin

    from tests.pages.test_answers import HTML, Seen

    asked: set[str] = set()
    for kind in ("certificate", "refused", "episode", "compare", "log entry", "plan"):
        path = paths(demo)[kind]
        for tag, attributes in Seen(httpx.get(demo.url + path, headers=HTML, timeout=120).text).elements:
            address = urljoin(path, attributes.get("href") or "").partition("#")[0]
            if tag != "a" or address in asked or "/cells?" in address:
                continue
            asked.add(address)
            assert httpx.get(demo.url + address, headers=HTML, timeout=120).status_code == 200, (kind, address)
    assert len(asked) > 25


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_is_sound(browser: Browser, demo: Filled, dark: bool, width: int) -> None:
    with watched(browser, demo.url, dark=dark, width=width) as tab:
        for path in paths(demo).values():
            tab.open(path)
            tab.require_sound(accessible=True)
        for path in ("/nowhere", "/certificates/none", "/search?q=nothing%20of%20this"):
            tab.open(path, 404)
            tab.require_sound(accessible=True)
        tab.open("/plan?tasks=none", 422)
        tab.require_sound(accessible=True)
