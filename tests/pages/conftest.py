"""A real browser, and services that listen: filled like the demo, and from real runs where the reference material is."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pages.filling import Filled, fill_with_examples, fill_with_samples, fill_with_worlds, listening

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-gpu",
    "--disable-quic",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; skips where there is none. Of a module: while its driver runs, nothing else can run an event loop."""
    if not CHROMIUM.is_file():
        pytest.skip(f"there is no browser at {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Filled]:
    """A service with the demo's pairs and synthetic certificates; filled once, and copied by the other workers of a run."""
    base = tmp_path_factory.getbasetemp()
    shared_folder = (base if worker_id == "master" else base.parent) / "pages-filled"
    own = tmp_path_factory.mktemp("pages") / "data"
    if _is_first(shared_folder):
        with listening(shared_folder / "data") as service:
            fill_with_examples(service)
            fill_with_worlds(service)
        (shared_folder / "ids.json").write_text(json.dumps(service.ids), "utf-8")
    _wait_for(shared_folder / "ids.json")
    shutil.copytree(shared_folder / "data", own)
    with listening(own) as service:
        service.ids.update(json.loads((shared_folder / "ids.json").read_text("utf-8")))
        yield service


def _is_first(folder: Path) -> bool:
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True


def _wait_for(path: Path) -> None:
    until = time.monotonic() + 300
    while not path.is_file() or not path.read_text("utf-8"):
        assert time.monotonic() < until, "another worker did not fill the service in five minutes"
        time.sleep(0.2)


@pytest.fixture(scope="session")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A service with real runs of real models."""
    with listening(tmp_path_factory.mktemp("real-pages")) as service:
        fill_with_samples(service, shared, tmp_path_factory.mktemp("agentdyn"))
        yield service


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Filled]:
    """A service with nothing in it."""
    with listening(tmp_path) as service:
        yield service
