#!/usr/bin/env python3
"""Writes docs/screenshots/: three pages of a service that holds what the demo hands in, as the README shows them.

usage: screenshots.py [FOLDER] [--browser PATH]     (needs Chromium; about a minute)
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY)]

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.pages.filling import Filled

WIDTH: Final = 1080
ARGUMENTS: Final = (
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-gpu",
    "--disable-quic",
)


@dataclass(frozen=True)
class Picture:
    """A page, the place that the picture begins at, and its height."""

    path: str
    start: str
    height: int
    dark: bool = False


def main() -> int:
    """Fill a service, look at it, write the pictures."""
    from playwright.sync_api import sync_playwright

    from tests.pages.filling import fill_with_examples, listening

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=REPOSITORY / "docs" / "screenshots")
    parser.add_argument("--browser", type=Path, default=Path("/usr/bin/chromium"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pairmark-screenshots-") as data, listening(Path(data)) as service, sync_playwright() as driver:
        fill_with_examples(service)
        browser = driver.chromium.launch(executable_path=given.browser, args=list(ARGUMENTS))
        for name, picture in pages_of(service).items():
            take(browser, service, picture, given.folder / f"{name}.png")
        browser.close()
    return 0


def pages_of(service: Filled) -> dict[str, Picture]:
    """The pictures by name."""
    certificate = f"/certificates/{service['certified certificate']}"
    return {
        "certificate": Picture(certificate, "#numbers", 596),
        "cells": Picture(certificate, "#map", 560),
        "refused": Picture(f"/certifications/{service['refused']}", "h1", 1160, dark=True),
    }


def take(browser: Browser, service: Filled, picture: Picture, target: Path) -> None:
    """One picture, scrolled to its place."""
    size, scheme = {"width": WIDTH, "height": picture.height}, "dark" if picture.dark else "light"
    context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(service.url + picture.path)
    page.locator(picture.start).first.evaluate("element => scrollTo(0, element.getBoundingClientRect().top - 24)")
    page.screenshot(path=target)
    print(f"{target}  {target.stat().st_size} bytes")
    context.close()


if __name__ == "__main__":
    sys.exit(main())
