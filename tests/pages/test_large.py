"""Large suites and runs: the map stays smooth, a run is paged and never loaded whole, and what a page says to run does run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pairmark.domain.world import World
from tests.pages.filling import Filled, listening
from tests.pages.watching import watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

SWEEP = """async () => {
  const map = document.querySelector('svg.heat-map'), box = map.getBoundingClientRect(), times = [];
  for (let step = 0; step < 300; step += 1) {
    const from = performance.now();
    map.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: box.left + 160 + step, clientY: box.top + 140 + 3 * step }));
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - from);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}"""


def test_the_map_of_100_tasks_by_35_injections_stays_smooth_and_light(browser: Browser, tmp_path: Path) -> None:
    with listening(tmp_path) as service:
        found = service.certify_world("large", World.of(tasks=100, injections=35, groups=1))
        assert found["certificate"] is not None
        with watched(browser, service.url) as tab:
            page = tab.open(f"/certificates/{found['certificate']}")
            assert page.locator("svg.heat-map [data-row]").count() == 100
            assert page.locator("svg.heat-map [data-column]").count() == 35
            tab.require_sound(accessible=True)
            assert page.evaluate(SWEEP) < 50, "milliseconds from a movement to the frame that shows it"
            page.locator("svg.heat-map [data-row]").first.click()
            assert page.locator("tbody tr").count() == 35


def test_a_run_of_100_000_episodes_is_paged(browser: Browser, tmp_path: Path) -> None:
    world = World.of(tasks=1000, injections=100, groups=1)
    with listening(tmp_path) as service:
        service.register(world.suite_manifest())
        run = service.hand_in(world.run("attacked"), world.files()["attacked/episodes.jsonl"])
        with watched(browser, service.url) as tab:
            page = tab.open(f"/runs/{run}")
            assert tab.texts(".strip-number")[0] == "100\N{NARROW NO-BREAK SPACE}000"
            for _ in range(3):
                assert page.locator(".rows tbody tr").count() == 50
                page.get_by_role("link", name="Next").click()
            page.get_by_label("task", exact=True).fill(str(world.suite["tasks"][-1]["id"]))
            page.get_by_role("button", name="Filter").click()
            assert page.locator(".rows tbody tr").count() == 50
            tab.require_sound(accessible=True)


def test_what_a_certificate_says_to_run_verifies_it(browser: Browser, demo: Filled, tmp_path: Path) -> None:
    if shutil.which("curl") is None or shutil.which("jq") is None:
        pytest.skip("the commands on the page use curl and jq")
    with watched(browser, demo.url) as tab:
        page = tab.open(f"/certificates/{demo['certified certificate']}")
        commands = [page.locator("section", has_text="Verify it yourself").locator("pre").nth(place).inner_text() for place in (0, 1)]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", "\n".join(commands)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("VALID") >= 2
    for step in ("artifacts", "numbers", "policy", "status"):
        assert any(line.split()[:3][-1].startswith(step) or step in line for line in done.stdout.splitlines() if "PASS" in line), done.stdout
