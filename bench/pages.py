"""Pages against the calls of the interface that they stand on: `python bench/pages.py` prints a ratio and a weight for each.

One service, called in the process: a certified world of 100 tasks × 35 injections, another over the same mix, a second version
of its suite, a run of 100,000 episodes, and ten pairs that are held; then the same one with sign-in on, 100 members and 300 keys. A
page is the time of its answer over the sum of the times of its calls.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
from fastapi import FastAPI

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from pairmark.http.access import COOKIE, first_admin_key
from pairmark.http.app import create_app, let_go
from pairmark.http.settings import Settings

MEMBERS, KEYS_OF_EACH, HELD = 100, 3, 10
UNLIMITED = 1_000_000
LIMIT = 2.0
WEIGHT = 300_000
REPEATS = 15
JSON = {"Content-Type": "application/json"}
PLAN = {"tasks": 100, "injections": 10, "clean_rate": 0.7, "survival": 0.8, "half_width": 0.05, "difference": 0.1}
PLAN_FIELDS = "&".join(f"{key}={value}" for key, value in PLAN.items())

Call = tuple[str, str, bytes | None]


@dataclass(frozen=True)
class Measured:
    """A page: least seconds of its answer and of its calls, and its bytes."""

    name: str
    page: float
    calls: float
    size: int

    @property
    def is_kept(self) -> bool:
        return self.page <= LIMIT * self.calls and self.size < WEIGHT


def main() -> int:
    """Every page's ratio; 1 where one is above its limit."""
    with tempfile.TemporaryDirectory(prefix="pairmark-bench-") as folder:
        app = create_app(Settings(data_dir=Path(folder)))
        try:
            measured = asyncio.run(measured_pages(app))
        finally:
            let_go(app)
        closed = create_app(Settings(data_dir=Path(folder), sign_in="required", requests_per_minute=UNLIMITED))
        try:
            measured.append(asyncio.run(measured_people(closed)))
        finally:
            let_go(closed)
    for one in measured:
        print(
            f"{one.name:<22} {one.page / one.calls:5.2f} x of {1000 * one.calls:7.1f} ms, at most {LIMIT:.0f} x;"
            f" {one.size / 1000:6.1f} kB, below {WEIGHT // 1000}: {'kept' if one.is_kept else 'EXCEEDED'}"
        )
    return 0 if all(one.is_kept for one in measured) else 1


async def measured_pages(app: FastAPI) -> list[Measured]:
    """All of them on one filled service."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=600) as client:
        pages = await filled(client)
        return [await measured(client, name, path, calls) for name, (path, calls) in pages.items()]


async def measured_people(app: FastAPI) -> Measured:
    """The page of those who sign in, as its admin sees it; the calls say the key, the page is given it in a cookie."""
    services = app.state.services
    key = first_admin_key(services.database, services.new_id, services.clock)
    if key is None:
        raise RuntimeError("expected a service without a key, found one with")
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=600, headers=headers) as client:
        for number in range(MEMBERS):
            made = await client.post("/v1/members", json={"name": f"Member {number}", "roles": ["reader", "submitter"]})
            for place in range(KEYS_OF_EACH):
                answer = await client.post("/v1/keys", json={"label": f"machine {place}", "member": made.json()["id"]})
                assert answer.status_code == 201, answer.text
        client.cookies.set(COOKIE, key)
        calls = [
            ("GET", path, None)
            for path in ("/v1/me", "/v1/members", "/v1/keys", "/v1/audit?limit=50", "/v1/certifications?waiting=true&limit=50")
        ]
        return await measured(client, "people, signed in", "/people", calls)


async def measured(client: httpx.AsyncClient, name: str, path: str, calls: Sequence[Call]) -> Measured:
    """Least of several rounds, page and calls in turn so that both meet the same machine."""
    page = both = float("inf")
    size = 0
    for _ in range(REPEATS):
        begin = perf_counter()
        for method, address, body in calls:
            answer = await client.request(method, address, content=body, headers=JSON if body else None)
            assert answer.status_code == 200, answer.text
        both = min(both, perf_counter() - begin)
        begin = perf_counter()
        answer = await client.get(path, headers={"Accept": "text/html"})
        page = min(page, perf_counter() - begin)
        assert answer.status_code == 200, answer.text
        size = len(answer.content)
    return Measured(name, page, both, size)


async def filled(client: httpx.AsyncClient) -> dict[str, tuple[str, list[Call]]]:
    """A page of every kind, with the calls that it stands on."""

    async def post(path: str, value: Mapping[str, Any]) -> dict[str, Any]:
        answer = await client.post(path, content=canonical_bytes(dict(value)), headers=JSON)
        assert answer.status_code in (200, 201), answer.text
        return dict(answer.json())

    async def hand_in(world: World, role: str) -> str:
        run = str((await post("/v1/runs", world.run(role)))["id"])  # type: ignore[arg-type]
        ledger = world.files()[f"{role}/episodes.jsonl"]
        answer = await client.put(f"/v1/runs/{run}/episodes", content=ledger, headers={"Content-Type": "application/x-ndjson"})
        assert answer.status_code in (200, 201), answer.text
        return run

    async def certified(world: World) -> dict[str, Any]:
        await post("/v1/suites", world.suite_manifest())
        runs: dict[str, Any] = {role: await hand_in(world, role) for role in world.sides}
        return await post("/v1/certifications", {**runs, "policy": "standard/1"})

    world = World.of(tasks=100, injections=35, groups=1)
    changed = world.edit_suite("/version", "v2").edit_suite("/tasks/0/checker", f"sha256:{'a' * 64}")
    first, second = await certified(world), await certified(world.undefended())
    suite = first["report"]["suite"]["digest"]
    other = (await post("/v1/suites", changed.suite_manifest()))["digest"]
    large = World.of(tasks=1000, injections=100, groups=1).edit_suite("/suite", "synthetic/large")
    await post("/v1/suites", large.suite_manifest())
    run = await hand_in(large, "attacked")
    for number in range(HELD):
        pair = World().without_probe().edit_suite("/suite", "synthetic/held")
        pair = pair.edit_run("all", "/started_at", f"2026-01-{number + 1:02}T00:00:00Z")
        held = await certified(pair.set("benign", utility=True).set("attacked", utility=True))
        assert held["report"]["verdict"] == "quarantined", held["report"]["verdict"]
    certificate, attacked = first["certificate"], first["runs"]["attacked"]

    def get(*paths: str) -> list[Call]:
        return [("GET", path, None) for path in paths]

    standing = f"/v1/certificates/{certificate}"
    return {
        "start": ("/", get("/v1/suites?limit=12", "/v1/certifications?verdict=certified&limit=8", "/v1/certifications?waiting=true&limit=8")),
        "suite": (
            f"/suites/{suite}",
            get(f"/v1/suites/{suite}", f"/v1/suites/{suite}/diff/{other}", f"/v1/suites/{suite}/diff/{suite}", f"/v1/history?suite={suite}&limit=20"),
        ),
        "suite diff": (f"/suites/{suite}/diff/{other}", get(f"/v1/suites/{suite}/diff/{other}?certificates=true")),
        "run, 100,000 episodes": (f"/runs/{run}", get(f"/v1/runs/{run}", f"/v1/runs/{run}/counts", f"/v1/runs/{run}/episodes?limit=50", f"/v1/certifications?run={run}&limit=20")),
        "the same, filtered": (
            f"/runs/{run}?utility=false&delivered=true",
            get(f"/v1/runs/{run}", f"/v1/runs/{run}/counts", f"/v1/runs/{run}/episodes?limit=50&utility=false&delivered=true", f"/v1/certifications?run={run}&limit=20"),
        ),
        "certification": (f"/certifications/{first['id']}", get(f"/v1/certifications/{first['id']}")),
        "certifications": ("/certifications", get("/v1/certifications?limit=50")),
        "certificate": (
            f"/certificates/{certificate}",
            get(
                standing, f"{standing}/status", f"{standing}/bundle", f"{standing}/cells", f"/v1/runs/{attacked}",
                f"/v1/history?suite={suite}&limit=1",
            ),
        ),
        "pairs of outcomes": (f"/certificates/{certificate}/cells?kind=lost", get(standing, f"{standing}/flips")),
        "comparison": (
            f"/compare?left={certificate}&right={second['certificate']}", get(f"/v1/comparisons?left={certificate}&right={second['certificate']}")
        ),
        "history": (f"/history?suite={suite}", get(f"/v1/history?suite={suite}&limit=60")),
        "plan": (f"/plan?{PLAN_FIELDS}", [("POST", "/v1/plans", canonical_bytes(PLAN))]),
        "log": ("/log", get("/v1/log/checkpoint", "/v1/log/entries?limit=50", "/v1/log/entries?limit=1")),
        "log entry": ("/log/3", get("/v1/log/proof?index=3", "/v1/log/entries?start=3&limit=1")),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
