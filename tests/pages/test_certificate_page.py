"""What a certificate's page answers without another page: out of what, the same in what, excluded how, by which baseline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pairmark.http.pages.checklist import QUESTIONS, questions
from pairmark.http.pages.shown import FLAGS, flag_means
from pairmark.metrics.estimating import SINGLE_TASK_GROUP_FLAG
from pairmark.rules.baseline_delivery import NO_HEADROOM
from pairmark.rules.registry import installed_rules
from pairmark.rules.sign_plausible import DISPROVED, NO_DROP
from pairmark.stats.scope import FEW_INJECTIONS_FLAG
from tests.pages.filling import Filled
from tests.pages.test_answers import Seen, get
from tests.pages.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def section(page: str, anchor: str) -> str:
    """The text of one section, spaces apart."""
    place = page.index(f'<section aria-labelledby="{anchor}">')
    return " ".join(" ".join(Seen(page[place : page.index("</section>", place)]).text).split())


def test_every_finding_answers_a_question_of_the_reader(demo: Filled) -> None:
    report = demo.get(f"/v1/certificates/{demo['certified certificate']}")["report"]
    same = section(get(demo, f"/certificates/{demo['certified certificate']}").text, "same")
    place = 0
    for asked, rules in QUESTIONS:
        place = same.index(asked, place)
        for finding in (finding for finding in report["findings"] if finding["rule"] in rules):
            assert f"passed {finding['message']} {finding['rule']}" in same[place:]
    for role in ("benign", "attacked", "baseline"):
        counts = [str(report["counts"][role][key]) for key in ("planned", "present", "assessed", "aborted", "blocked")]
        assert " ".join((role, *counts)) in same


def test_every_installed_rule_has_its_question_and_no_finding_is_dropped() -> None:
    assert {rule for _, rules in QUESTIONS for rule in rules} == {name for name, _ in installed_rules()}
    unknown = {"rule": "of-a-later-version", "outcome": "passed", "message": "holds", "evidence": {}}
    asked = questions([unknown])
    assert [line.rule for line in asked[-1].lines] == ["of-a-later-version"]
    assert all(one.lines == () for one in asked[:-1])


def test_a_number_says_what_it_is_out_of(demo: Filled) -> None:
    metrics = demo.get(f"/v1/certificates/{demo['certified certificate']}")["report"]["metrics"]
    numbers = section(get(demo, f"/certificates/{demo['certified certificate']}").text, "numbers")
    for key in ("benign_utility", "utility_under_attack", "attack_success_rate"):
        counts = metrics[key]["counts"]
        assert f"{counts['tasks']} tasks {counts['successes']} of {counts['episodes']} episodes" in numbers
    assert f"{metrics['utility_drop']['counts']['cells']} attacked cells" in numbers


def test_every_flag_is_said_in_words(demo: Filled) -> None:
    assert set(FLAGS) == {FEW_INJECTIONS_FLAG, SINGLE_TASK_GROUP_FLAG, NO_HEADROOM, NO_DROP, DISPROVED}
    assert flag_means("of-a-later-version") == ""
    report = demo.get(f"/v1/certificates/{demo['certified certificate']}")["report"]
    page = get(demo, f"/certificates/{demo['certified certificate']}").text
    assert report["flags"]
    for flag in report["flags"]:
        assert re.search(rf"{flag}</span> {re.escape(FLAGS[flag])}</li>", page)


@pytest.mark.parametrize("width", [360, 760])
def test_on_a_narrow_screen_the_numbers_need_no_scrolling_sideways(browser: Browser, demo: Filled, width: int) -> None:
    with watched(browser, demo.url, width=width) as tab:
        page = tab.open(f"/certificates/{demo['certified certificate']}")
        for place in ("numbers", "same", "diagnostics"):
            wider = page.locator(f'.wide[aria-labelledby="{place}"]').evaluate("one => one.scrollWidth - one.clientWidth")
            assert wider <= 0, place
        assert page.locator("table.numbers thead").first.evaluate("one => one.getBoundingClientRect().width") <= 1
        tab.require_sound(accessible=width == 360)
