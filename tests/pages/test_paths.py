"""Each page's main path, clicked as a person would click it, on what the demo leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.pages.filling import Filled
from tests.pages.watching import Watched, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


RATES = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")


@pytest.fixture
def tab(browser: Browser, demo: Filled) -> Iterator[Watched]:
    with watched(browser, demo.url) as found:
        yield found


def test_from_the_start_to_a_certificate(tab: Watched, demo: Filled) -> None:
    page = tab.open("/")
    assert page.get_by_role("heading", level=1).inner_text() == "Utility under attack, certified"
    page.locator(f'a[href="/certificates/{demo["certified certificate"]}"]').click()
    assert page.locator(".verdict-word").inner_text() == "✓ valid"
    report = demo.get(f"/v1/certificates/{demo['certified certificate']}")["report"]
    row = page.locator(".number-utility_under_attack")
    assert report["metrics"]["utility_under_attack"]["fraction"] in row.inner_text()
    assert report["metrics"]["utility_under_attack"]["interval"]["method"] in row.inner_text()
    headings = tab.texts("h2")
    assert headings.index("The pair, over the whole suite") < headings.index("Diagnostics: over a part of the episodes")
    tab.require_sound()


def test_from_a_flip_to_the_two_episodes_behind_it(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/certificates/{demo['certified certificate']}")
    flips = demo.get(f"/v1/certificates/{demo['certified certificate']}")["report"]["metrics"]["flips"]
    assert [page.locator(f".flip-{kind} .number").inner_text() for kind in ("lost", "gained", "kept", "neither")] == [
        str(flips[kind]) for kind in ("lost", "gained", "kept", "neither")
    ]
    page.locator(".flip-lost a").click()
    assert page.locator("tbody tr").count() == flips["lost"]
    page.locator("tbody tr").first.get_by_role("link", name="attacked").click()
    assert "utility: the user's goal was reached" in page.locator("main").inner_text()
    assert page.locator("dd .no").first.inner_text() == "✗ no"
    page.go_back()
    page.locator("tbody tr").first.get_by_role("link", name="benign").click()
    assert page.locator("dd .yes").first.inner_text() == "✓ yes"
    tab.require_sound()


def test_the_map_says_what_is_under_the_pointer_and_leads_there(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/certificates/{demo['certified certificate']}")
    shape = page.locator("svg.heat-map")
    left, top = (int(shape.get_attribute(f"data-{side}") or 0) for side in ("left", "top"))
    shape.hover(position={"x": left + 8, "y": top + 8})
    cells = demo.get(f"/v1/certificates/{demo['certified certificate']}/cells")
    said = page.locator("[data-map-says]").inner_text()
    assert said.startswith(f"{cells['tasks'][0]} × {cells['injections'][0]}: ")
    kind = next(kind for kind in ("lost", "gained", "kept", "neither") if cells["cells"][kind][0])
    assert f": {kind}: done " in said
    shape.click(position={"x": left + 8, "y": top + 8})
    page.wait_for_url("**/cells?**")
    assert page.locator("tbody tr").count() == cells["epochs"]
    tab.require_sound()


def test_a_refused_pair_gives_its_reasons_and_no_numbers(tab: Watched, demo: Filled) -> None:
    page = tab.open("/certifications?verdict=refused")
    page.locator(f'a[href="/certifications/{demo["refused"]}"]').click()
    assert page.locator(".verdict-word").inner_text() == "✗ REFUSED"
    found = demo.get(f"/v1/certifications/{demo['refused']}")["report"]["findings"]
    assert tab.texts(".checklist .rule") == [finding["rule"] for finding in found]
    failed = [finding["rule"] for finding in found if finding["outcome"] == "failed"]
    assert tab.texts(".outcome-failed .rule") == failed
    assert tab.texts(".verdict-box .open-rules a") == failed
    page.locator(".verdict-box .open-rules a").last.click()
    assert page.locator(f"#rule-{failed[-1]}:target").inner_text().count("What to do:") == 1
    opened = page.locator(".outcome-failed").first.inner_text()
    assert "What to do:" in opened
    assert "user_task_15 × injection_task_0, epoch 1" in opened
    assert "95 % interval" not in page.locator("main").inner_text()
    tab.require_sound()


def test_what_waits_in_quarantine_is_one_click_from_the_start(tab: Watched, demo: Filled) -> None:
    page = tab.open("/")
    page.locator("section", has_text="Waiting in quarantine").locator("tbody a").first.click()
    assert page.locator(".verdict-word").inner_text() == "‖ QUARANTINED"
    assert tab.texts(".outcome-held .rule") == ["sign-plausible"]
    assert f"pairmark disprove {demo['quarantined']}" in page.locator("main").inner_text()
    tab.require_sound()


def test_a_suite_shows_which_history_survives(tab: Watched, demo: Filled) -> None:
    page = tab.open("/")
    page.get_by_role("link", name="agentdojo/banking", exact=True).last.click()
    diff = demo.get(f"/v1/suites/{demo['banking v1.1.2']}/diff/{demo['banking v1.2.2']}")["attacked_cells"]
    cell = page.locator(".matrix tbody td").first
    assert f"{diff['changed']} changed" in cell.inner_text()
    assert f"{diff['surviving']} of {diff['left']} survive" in cell.inner_text()
    cell.get_by_role("link").click()
    assert "only on the surviving cells" in page.locator(".lead").inner_text()
    tab.require_sound()
    page.go_back()
    assert tab.texts("section[aria-labelledby=probes] h3") == ["Checker floor", "Reachable cells"]
    assert demo["certified certificate"][:20] in page.locator("section", has_text="Certificates on this mix").first.inner_text()
    tab.require_sound()


def test_a_runs_episodes_are_filtered_and_paged(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/runs/{demo['certified attacked']}")
    counts = demo.get(f"/v1/runs/{demo['certified attacked']}/counts")
    shown = [int(text) for text in tab.texts(".strip-number")]
    assert shown == [counts[key] for key in ("planned", "present", "delivered", "assessed", "aborted", "blocked")]
    assert page.locator(".rows tbody tr").count() == 50
    page.get_by_role("link", name="Next").click()
    assert page.locator(".rows tbody tr").count() == 50
    page.get_by_label("task", exact=True).fill("user_task_3")
    page.get_by_label("utility").select_option("false")
    page.get_by_role("button", name="Filter").click()
    wanted = demo.get(f"/v1/runs/{demo['certified attacked']}/episodes?task=user_task_3&utility=false")["items"]
    assert page.locator(".rows tbody tr").count() == len(wanted) > 0
    page.locator(".rows tbody a").first.click()
    assert page.url.endswith(f"/episode?task=user_task_3&injection={wanted[0]['injection_id']}&epoch=1")
    tab.require_sound()


def test_certificates_are_compared_as_differences_from_a_baseline(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/certificates/{demo['bare certificate']}")
    page.get_by_role("link", name="Compare with another certificate").click()
    offered = page.locator("section", has_text="Over the same mix")
    assert offered.locator("tbody tr").count() == 1, "what stands over the mix, without the baseline itself"
    offered.get_by_role("link", name=f"compare with {demo['filter certificate']}").click()
    answer = demo.get(f"/v1/comparisons?left={demo['bare certificate']}&right={demo['filter certificate']}")
    rows = page.locator("table.numbers tbody tr")
    standings = {"tied": "= tied", "left-higher": "baseline higher", "right-higher": "other higher", "not-ranked": "not ranked"}
    assert tab.texts("table.numbers tbody .tag") == [standings[answer["changes"][rate]["standing"]] for rate in RATES]
    assert "= tied" in rows.first.inner_text()
    sides = page.locator("table", has_text="harness")
    assert [row.inner_text().split()[0] for row in sides.locator("tr", has_text="differs").all()] == ["defenses"]
    page.get_by_label("one more").fill(demo["superseded certificate"])
    page.get_by_role("button", name="Compare", exact=True).click()
    assert page.get_by_text("p (Holm)").count() == 2
    tab.require_sound()


def test_a_refused_comparison_leads_to_what_compares(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/compare?left={demo['filter certificate']}&right={demo['other certificate']}")
    assert "suite.digest" in page.locator("section", has_text="What differs").inner_text()
    tab.require_sound()
    page.get_by_role("link", name="Compare on the cells in common").click()
    assert "Two suites, on the cells in common" in page.locator("main").inner_text()
    assert page.get_by_text("within: the same cells").is_visible()
    tab.require_sound()


def test_history_counts_what_it_leaves_out(tab: Watched, demo: Filled) -> None:
    page = tab.open("/history")
    page.get_by_role("textbox", name="suite").fill("synthetic/office@v1")
    page.get_by_role("button", name="Show").click()
    answer = demo.get("/v1/history?suite=synthetic/office@v1")
    assert page.locator("svg.timeline a").count() == len(answer["items"])
    left_out = page.locator("section", has_text="Left out").last
    for reason, count in answer["left_out"].items():
        assert left_out.get_by_role("row", name=re.compile(f"{reason.replace('-', ' ')} {count} ")).count() == 1
    tab.require_sound()
    page.get_by_role("link", name="Show them, marked").click()
    assert page.locator("tr", has_text="does not compare").count() == sum(answer["left_out"].values())
    assert page.locator("tr", has_text="revoked").get_by_text("does not compare").count() == 1
    assert page.locator("svg.timeline a").count() == len(answer["items"])
    tab.require_sound()


def test_a_slider_moves_the_plan(tab: Watched, demo: Filled) -> None:
    page = tab.open("/plan")
    before = page.locator(".figures .number").first.inner_text()
    with page.expect_response("**/plan?**tasks=400**"):
        page.get_by_label("tasks, slider", exact=True).fill("400")
    page.wait_for_function("before => document.querySelector('.figures .number').innerText !== before", arg=before)
    request = {
        "tasks": 400, "injections": 10, "clean_rate": 0.7, "survival": 0.8, "half_width": 0.05, "difference": 0.1, "power": 0.8,
        "calls_per_episode": {"low": 5, "high": 15},
    }
    plan = demo.post("/v1/plans", request)
    assert page.locator(".figures .number").first.inner_text() == f"± {100 * float(plan['utility']['half_width']):.2f}".rstrip("0") + "\N{NO-BREAK SPACE}points"
    assert "tasks=400" in page.url
    tab.require_sound()


def test_an_entry_of_the_log_is_proven_as_a_tree(tab: Watched, demo: Filled) -> None:
    page = tab.open("/log")
    assert "revoked" in page.locator("tr.status-change").first.inner_text() + page.locator("tr.status-change").last.inner_text()
    page.locator("tr.status-change a").first.click()
    index = int(page.url.rsplit("/", 1)[1])
    proof = demo.get(f"/v1/log/proof?index={index}")
    assert page.locator("svg.proof .sibling").count() == len(proof["path"])
    assert "✓ The path leads to that root." in page.locator("main").inner_text()
    tab.require_sound()


def test_a_revoked_certificate_says_so_first(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/certificates/{demo['revoked certificate']}")
    assert "revoked" in page.locator(".verdict-word").inner_text()
    assert "for measurement error" in page.locator(".verdict-box").inner_text()
    page = tab.open(f"/certificates/{demo['superseded certificate']}")
    page.locator(".verdict-box").get_by_role("link").last.click()
    assert page.url.endswith(demo["filter certificate"])
    tab.require_sound()


def test_an_announced_run_has_no_episodes_yet(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/runs/{demo['announced']}")
    assert "Its ledger has not been handed in" in page.locator("main").inner_text()
    tab.require_sound()


def test_a_search_takes_what_a_person_has(tab: Watched, demo: Filled) -> None:
    run = demo.get(f"/v1/runs/{demo['filter attacked']}")
    for text, place in (
        (demo["certified certificate"], f"/certificates/{demo['certified certificate']}"),
        ("agentdojo/banking@v1.1.2", f"/suites/{demo['banking v1.1.2']}"),
        (run["episodes"]["digest"], "/search"),
        ("BANKING", "/search"),
        ("model-x-2026-01-01", "/search"),
    ):
        page = tab.open("/")
        page.get_by_label("Find a suite, a run, a certificate").fill(text)
        page.locator(".search.large button").click()
        assert page.url.removeprefix(tab.url).startswith(place)
        if place == "/search":
            assert page.locator(".found a").count() >= 2
    tab.require_sound()


def test_digests_are_copied_whole_and_times_are_local_on_hover(tab: Watched, demo: Filled) -> None:
    page = tab.open(f"/runs/{demo['certified attacked']}")
    button = page.locator(".copied button").first
    button.click()
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", page.evaluate("navigator.clipboard.readText()"))
    assert page.locator("time").first.get_attribute("title").endswith("where you are")  # type: ignore[union-attr]
    tab.require_sound()
