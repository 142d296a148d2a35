"""What rests on a run is a click away from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pairmark.domain.world import World
from tests.pages.filling import Filled
from tests.pages.test_answers import get
from tests.pages.watching import Watched, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RESTS = "section[aria-labelledby=certifications]"


@pytest.fixture
def tab(browser: Browser, demo: Filled) -> Iterator[Watched]:
    with watched(browser, demo.url, width=390) as found:
        yield found


def test_from_a_run_to_its_certificate_and_its_refusal(tab: Watched, demo: Filled) -> None:
    for name, role in (("certified", "attacked"), ("refused", "benign")):
        run = demo[f"{name} {role}"]
        page = tab.open(f"/runs/{run}")
        items = demo.get(f"/v1/certifications?run={run}")["items"]
        rows = page.locator(f"{RESTS} tbody tr")
        assert rows.count() == len(items) > 0
        places = [item["id"] for item in items]
        row = rows.nth(places.index(demo[name]))
        assert role in row.locator("td").last.inner_text()
        assert name in row.inner_text()
        tab.require_sound()
        if name == "certified":
            row.locator("td").nth(3).get_by_role("link").click()
            assert page.url.endswith(f"/certificates/{demo['certified certificate']}")
        else:
            assert row.locator("td").nth(3).inner_text() == "none"
            row.locator("td").nth(2).get_by_role("link").click()
            assert page.url.endswith(f"/certifications/{demo['refused']}")


def test_a_revoked_certificate_is_said_to_be_so(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/runs/{demo['revoked attacked']}")
    assert "✗ revoked" in page.locator(f"{RESTS} tbody tr").first.inner_text()


def test_a_run_on_which_nothing_rests_says_so(demo: Filled) -> None:
    assert "No verdict rests on it" in get(demo, f"/runs/{demo['announced']}").text


def test_what_is_left_over_is_listed_with_its_filters(empty: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairmark.http.pages.routes.runs.CERTIFICATIONS", 1)
    monkeypatch.setattr("pairmark.http.pages.routes.certifications.LISTED", 1)
    empty.certify_world("own", World())
    runs = {role: empty[f"own {role}"] for role in ("benign", "attacked", "baseline")}
    other = empty.post("/v1/certifications", {**runs, "policy": "transcript/1"})["id"]
    more = f"/certifications?run={runs['baseline']}"
    assert f'href="{more}"' in get(empty, f"/runs/{runs['baseline']}").text
    first = get(empty, more).text
    assert f'<input type="hidden" name="run" value="{runs["baseline"]}">' in first
    assert (other in first, empty["own"] in first) == (True, False)
    following = first.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    assert f"run={runs['baseline']}" in following
    assert empty["own"] in get(empty, following).text
    assert get(empty, "/certifications?run=none").status_code == 404
