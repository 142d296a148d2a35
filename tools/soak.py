"""Works a real server for a while and fails if what it holds keeps growing: `python tools/soak.py [SECONDS]`.

Uploads, certifications, refusals, broken requests and every kind of read, over and over, each with content of its own. Memory, open
files and threads are looked at every few seconds; the last quarter may not be higher than the second one, but for a little.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World

SECONDS = 1800.0
LOOK_SECONDS = 2.0
GROWTH_MIB, GROWTH_SHARE = 24, 0.06
"""How much more memory the last quarter may hold than the second: the allocator's noise, and no leak that half an hour would not show."""

JSON, NDJSON = {"Content-Type": "application/json"}, {"Content-Type": "application/x-ndjson"}


@dataclass(frozen=True)
class Look:
    """What a process holds at a moment: seconds since the start, MiB, open files, threads."""

    at: float
    memory: float
    files: int
    threads: int


def look(process: int, at: float) -> Look:
    """Ask the system."""
    status = Path(f"/proc/{process}/status").read_text()
    found = {name: int(re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[1]) for name in ("VmRSS", "Threads")}  # type: ignore[index]
    return Look(at, found["VmRSS"] / 1024, len(list(Path(f"/proc/{process}/fd").iterdir())), found["Threads"])


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """A server's URL and process."""
    log = folder / "log"
    with log.open("wb") as out, subprocess.Popen(
        [sys.executable, "-m", "pairmark.cli.main", "serve", "--port", "0", "--data", str(folder / "data")], stdout=out, stderr=out,
        env={**os.environ, "PAIRMARK_LOG_FORMAT": "json"},
    ) as server:  # fmt: skip
        try:
            while (found := re.search(r"serves (http://[^\s\"]+)", log.read_text())) is None:
                if server.poll() is not None:
                    raise SystemExit(log.read_text())
                time.sleep(0.1)
            yield found[1], server.pid
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(90)
        if "Traceback" in log.read_text() or '"level":"error"' in log.read_text().replace(" ", ""):
            raise SystemExit("expected no crash in the server's log, found one:\n" + log.read_text()[-4000:])


def one_round(client: httpx.Client, number: int) -> None:
    """A certified pair and a refused one of their own, everything read, and requests that are none."""
    world = World().set("benign", 1, duration_ms=number)

    def expect(answer: httpx.Response, *statuses: int) -> httpx.Response:
        if answer.status_code not in statuses:
            raise SystemExit(f"expected {statuses} from {answer.request.method} {answer.request.url.path}, found {answer.status_code}: {answer.text[:500]}")
        return answer

    expect(client.post("/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON), 200, 201)
    ids = {}
    for role in world.sides:
        run_id = expect(client.post("/v1/runs", content=canonical_bytes(world.run(role)), headers=JSON), 200, 201).json()["id"]
        expect(client.put(f"/v1/runs/{run_id}/episodes", content=world.files()[f"{role}/episodes.jsonl"], headers=NDJSON), 200, 201)
        ids[role] = run_id
    given = {**JSON, "Idempotency-Key": f"soak-{number}"}
    done = expect(client.post("/v1/certifications", content=canonical_bytes({**ids, "policy": "standard/1"}), headers=given), 201).json()
    expect(client.post("/v1/certifications", content=canonical_bytes({**ids, "policy": "standard/1"}), headers=given), 201)
    expect(client.post("/v1/certifications", json={"benign": ids["benign"], "attacked": ids["attacked"]}), 201)
    certificate = done["certificate"]
    for path in ("", "/bundle", "/flips", "/status", "/badge"):
        expect(client.get(f"/v1/certificates/{certificate}{path}"), 200)
    label = world.suite_manifest()
    expect(client.get("/v1/history", params={"suite": f"{label['suite']}@{label['version']}"}), 200)
    for form in ("json", "ndjson", "parquet"):
        expect(client.get(f"/v1/runs/{ids['attacked']}/episodes", params={"format": form}), 200)
    for path in ("/v1/log/checkpoint", "/v1/suites", "/metrics", "/readyz"):
        expect(client.get(path), 200)
    expect(client.put(f"/v1/runs/{ids['attacked']}/episodes", content=b'{"task_id": 1}\n', headers=NDJSON), 409, 422)
    expect(client.post("/v1/runs", content=b"{", headers=JSON), 400)
    expect(client.get("/v1/runs/run-none"), 404)


def flat(looks: list[Look], what: str, of: Callable[[Look], float], most: float, share: float) -> bool:
    """Whether the last quarter is no higher than the second one but for `most` and a share; prints both."""
    quarter = len(looks) // 4
    early, late = median(map(of, looks[quarter : 2 * quarter])), median(map(of, looks[-quarter:]))
    kept = late <= early + max(most, early * share)
    print(f"{what:>12}: {early:.0f} in the second quarter, {late:.0f} in the last: {'flat' if kept else 'GROWING'}")
    return kept


def main(seconds: float) -> int:
    """0 where everything stayed flat."""
    with tempfile.TemporaryDirectory(prefix="pairmark-soak-") as name, served(Path(name)) as (url, process):
        looks: list[Look] = []
        begin = time.monotonic()
        number = 0
        with httpx.Client(base_url=url, trust_env=False, timeout=120) as client:
            while (at := time.monotonic() - begin) < seconds or len(looks) < 16:
                number += 1
                one_round(client, number)
                if not looks or at - looks[-1].at >= LOOK_SECONDS:
                    looks.append(look(process, at))
        print(f"{number} rounds in {time.monotonic() - begin:.0f} s, {len(looks)} looks")
        kept = [
            flat(looks, "memory, MiB", lambda each: each.memory, GROWTH_MIB, GROWTH_SHARE),
            flat(looks, "open files", lambda each: each.files, 8, 0.0),
            flat(looks, "threads", lambda each: each.threads, 4, 0.0),
        ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if sys.argv[1:] else SECONDS))
