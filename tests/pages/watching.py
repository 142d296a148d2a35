"""A browser tab that is watched: nothing from outside, no complaint on the console, no serious accessibility fault, nothing cut off."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SERIOUS = ("serious", "critical")
OWN_STATUS = "Failed to load resource: the server responded with a status of"
"""What the browser says of every page whose own status is an error; such pages are looked at on purpose."""


class Watched:
    """A tab on one service."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        page.on("request", lambda request: self.asked.append(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not (OWN_STATUS in text and self.expected_status >= 400):
            self.complaints.append(text)

    expected_status = 200

    def open(self, path: str, status: int = 200) -> Page:
        self.expected_status = status
        answer = self.page.goto(self.url + path)
        assert answer is not None
        assert answer.status == status, path
        assert len(answer.body()) < 300_000, path
        return self.page

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]

    def require_sound(self, *, accessible: bool = False) -> None:
        """What holds for every page, as it is shown now; with `accessible` also what axe-core looks for, which takes a second."""
        assert self.complaints == [], self.page.url
        foreign = [address for address in self.asked if not address.startswith((self.url, "data:", "blob:"))]
        assert foreign == []
        wider: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, f"{self.page.url} is {wider} px wider than the window"
        faults = serious_faults(self.page) if accessible else []
        assert faults == [], f"{self.page.url}: {faults}"


def serious_faults(page: Page) -> list[dict[str, Any]]:
    """What axe-core finds, by rule, with the first places."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    # A gradient hides the ground from the contrast rule: the shadow of scrolled tables is laid off while it looks.
    page.evaluate("document.querySelectorAll('.wide').forEach(element => { element.style.background = 'none'; })")
    found = Axe().run(page).response["violations"]
    return [
        {"rule": one["id"], "places": [node["html"][:200] for node in one["nodes"][:3]], "why": one["nodes"][0]["failureSummary"]}
        for one in found if one["impact"] in SERIOUS
    ]  # fmt: skip


@contextlib.contextmanager
def watched(browser: Browser, url: str, *, width: int = 1280, dark: bool = False, scripts: bool = True) -> Iterator[Watched]:
    """A tab of its own."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", java_script_enabled=scripts, locale="en-GB",
        timezone_id="Asia/Tokyo", permissions=["clipboard-read", "clipboard-write"],
    )  # fmt: skip
    try:
        yield Watched(context.new_page(), url)
    finally:
        context.close()
