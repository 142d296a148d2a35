"""The pages on real runs of real models: what an auditor, a defence owner and a maintainer would look for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.pages.filling import Filled
from tests.pages.watching import Watched, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.fixture
def tab(browser: Browser, real: Filled) -> Iterator[Watched]:
    with watched(browser, real.url) as found:
        yield found


def test_gpt_4o_waits_in_quarantine_without_numbers(tab: Watched, real: Filled) -> None:
    page = tab.open("/")
    page.locator("section", has_text="Waiting in quarantine").locator("tbody a").first.click()
    assert page.url.endswith(real["gpt-4o"])
    assert page.locator(".verdict-word").inner_text() == "‖ QUARANTINED"
    assert tab.texts(".outcome-held .rule") == ["sign-plausible"]
    assert page.locator(".outcome-passed").count() == 17
    tab.require_sound(accessible=True)


def test_the_defended_pair_has_the_published_figures(tab: Watched, real: Filled) -> None:
    page = tab.open(f"/certificates/{real['repeat certificate']}")
    assert "63.33" in page.locator(".number-benign_utility .value").inner_text()
    assert "56.29" in page.locator(".number-utility_under_attack .value").inner_text()
    assert "31.19" in page.locator(".number-attack_success_rate .value").inner_text()
    assert page.locator("svg.heat-map [data-row]").count() == 60
    assert page.locator("svg.heat-map [data-column]").count() == 28
    tab.require_sound(accessible=True)
    page.locator('a[href*="kind=lost"]').click()
    page.locator("tbody tr").first.get_by_role("link", name="attacked").click()
    assert "✗ no" in page.locator("main").inner_text()
    tab.require_sound(accessible=True)


def test_the_refused_pair_names_its_missing_cells(tab: Watched, real: Filled) -> None:
    page = tab.open(f"/certifications/{real['camel']}")
    assert page.locator(".verdict-word").inner_text() == "✗ REFUSED"
    opened = page.locator(".outcome-failed", has_text="cells-complete")
    assert "of 240" in opened.inner_text()
    assert "content-matches" in tab.texts(".outcome-failed .rule")
    assert not page.get_by_text("95 % interval").count()
    tab.require_sound(accessible=True)


def test_the_strip_of_a_real_run(tab: Watched, real: Filled) -> None:
    tab.open(f"/runs/{real['gpt-4o attacked']}")
    assert tab.texts(".strip-number") == ["560", "560", "541", "560", "0", "0"]
    tab.require_sound(accessible=True)
    tab.open(f"/runs/{real['repeat attacked']}")
    assert tab.texts(".strip-number")[3:5] == ["559", "1"]


def test_two_versions_of_the_suite(tab: Watched, real: Filled) -> None:
    page = tab.open(f"/suites/{real['suite']}")
    diff = real.get(f"/v1/suites/{real['suite']}/diff/{real['other suite']}")["attacked_cells"]
    assert diff["removed"] > 0
    assert f"{diff['removed']} removed" in page.locator(".matrix").inner_text() or f"{diff['removed']} added" in page.locator(".matrix").inner_text()
    assert real["repeat certificate"][:20] in page.locator("section", has_text="Certificates on this mix").first.inner_text()
    tab.require_sound(accessible=True)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_of_real_runs_is_sound(browser: Browser, real: Filled, dark: bool, width: int) -> None:
    certificate = real["repeat certificate"]
    with watched(browser, real.url, dark=dark, width=width) as tab:
        for path in (
            "/", f"/suites/{real['suite']}", f"/suites/{real['suite']}/diff/{real['other suite']}", f"/runs/{real['gpt-4o attacked']}",
            f"/runs/{real['camel benign']}", f"/certifications/{real['gpt-4o']}", f"/certifications/{real['camel']}", f"/certificates/{certificate}",
            f"/certificates/{certificate}/cells", f"/compare?left={certificate}", f"/history?suite={real['suite']}", f"/plan?pilot={certificate}", "/log",
            "/log/1",
        ):  # fmt: skip
            tab.open(path)
            tab.require_sound(accessible=True)
