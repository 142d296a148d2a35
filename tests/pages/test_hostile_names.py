"""Names that try to be more than names stay text, wherever they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from pairmark.domain.world import World
from pairmark.http.pages.shown import inline, label, name, prose
from tests.pages.filling import Filled, listening
from tests.pages.test_answers import get
from tests.pages.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog

MARKUP = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\"'>{{ 7 * 7 }}"
TURNED = "safe\u202egnp.exe\u200f\u05d0\u2066"
LONG = "x" * 1000


def hostile_world() -> World:
    world = World()
    for place, text in enumerate((MARKUP, TURNED, LONG)):
        old = world.suite["tasks"][place]["id"]
        world = world.edit_suite(f"/tasks/{place}/id", text).set("all", pl.col("task_id") == old, task_id=text)
        world = world.edit_suite(f"/tasks/{place}/tags", [f"tag {text}"])
    return (
        world.edit_suite("/suite", f"hostile/{MARKUP}").edit_suite("/description", MARKUP + TURNED + "y" * 10_000)
        .edit_run("all", "/system/model/served", [TURNED]).set("all", served_model=TURNED)
    )  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with listening(tmp_path_factory.mktemp("hostile")) as found:
        assert found.certify_world("hostile", hostile_world())["certificate"] is not None
        yield found


def test_hostile_names_stay_text(browser: Browser, service: Filled) -> None:
    with watched(browser, service.url, width=800) as tab:
        dialogs: list[str] = []

        def dismiss(dialog: Dialog) -> None:
            dialogs.append(dialog.message)
            dialog.dismiss()

        tab.page.on("dialog", dismiss)
        certificate = f"/certificates/{service['hostile certificate']}"
        for path in (
            "/", f"/suites/{service['hostile suite']}", f"/runs/{service['hostile attacked']}", f"/certifications/{service['hostile']}",
            certificate, f"{certificate}/cells", f"/history?suite={service['hostile suite']}", "/search?q=hostile",
        ):
            page = tab.open(path)
            assert page.locator("script").count() == 1, path
            assert page.locator("img[onerror], img[src=x]").count() == 0, path
            assert "taken" not in page.title().split("title=")[0]
            tab.require_sound()
        assert dialogs == []
        page = tab.open(f"/suites/{service['hostile suite']}")
        text = page.locator("main").inner_text()
        assert "<script>document.title='taken'</script>" in text
        assert "{{ 7 * 7 }}" in text
        assert "U+202E" in text
        page.locator("details.long summary").first.click()
        tab.require_sound(accessible=True)


def test_what_is_copied_to_cite_a_certificate_turns_no_direction(service: Filled) -> None:
    world = World().edit_suite("/suite", f"turned/{TURNED}\u2028").edit_suite("/version", "1\u202e")
    certificate = service.certify_world("turned", world)["certificate"]
    text = get(service, f"/certificates/{certificate}").text
    assert [f"U+{ord(c):04X}" for c in "\u202e\u200f\u2066\u2028" if c in text] == []
    citation, bibtex = re.findall('<pre [^>]*aria-label="(?:citation|BibTeX entry)">(.*?)</pre>', text, re.DOTALL)
    for block in (citation, bibtex):
        assert "turned/safe[U+202E]gnp.exe[U+200F]\u05d0[U+2066][U+2028]" in block


@pytest.mark.slow
def test_a_long_error_of_an_episode_is_all_there(browser: Browser, tmp_path: Path) -> None:
    text = MARKUP + TURNED + "e" * 10_000
    world = World().set("attacked", 1, status="infra_error", utility=None, attack_success=None, error=text)
    with listening(tmp_path) as service, watched(browser, service.url, width=390) as tab:
        service.ids["suite"] = service.register(world.suite_manifest())
        run = service.hand_in(world.run("attacked"), world.files()["attacked/episodes.jsonl"])
        first = world.frame("attacked").row(0, named=True)
        page = tab.open(f"/runs/{run}/episode?task={first['task_id']}&injection={first['injection_id']}&epoch=1")
        page.locator("details.long summary").click()
        assert "e" * 10_000 in page.locator("details.long").inner_text()
        tab.require_sound()


@pytest.mark.parametrize("text", [MARKUP, TURNED, LONG * 10, "`a` <b>", "a\nb\x00c", "\ud800", "", "é中👍🏽"])
def test_names_are_escaped_and_whole(text: str) -> None:
    for shown in (str(name(text)), str(prose(text))):
        assert "<script" not in shown
        assert "<b>" not in shown
        assert "\u202e" not in shown
    assert len(inline(text, 30)) <= 30
    assert len(label(text)) <= 26
    assert "\u202e" not in label(text)
    assert "\u202e" not in inline(text)


def test_labels_keep_the_end_that_tells_them_apart() -> None:
    names = [f"dailylife/injection_task_{place}" for place in range(30)]
    assert len({label(one) for one in names}) == 30
    assert label("user_task_0") == "user_task_0"
