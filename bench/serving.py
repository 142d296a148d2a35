"""The service under load: `python bench/serving.py [SECONDS]` prints ratios beside their limits; 1 where one is above.

Reads: two API processes on one address and 16 kept connections over loopback, the client in a process of its own. Certificates, and
first pages of history, against a constant of equal size that the same application serves without touching anything.

Uploads: a ledger of 100,000 episodes sent to one process, against `pairmark check`'s own reading of the same bundle; and how much the
process grows at its peak from 100,000 to 1,000,000 episodes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

HERE = Path(__file__).resolve()
CONNECTIONS, WORKERS = 16, 2
ROUNDS, CERTIFICATES = 3, 20
LEAST_THROUGHPUT, MOST_P99 = 0.40, 3.0
MOST_UPLOAD, MOST_GROWTH = 2.0, 64
SMALL, LARGE = 100_000, 1_000_000


# the service, with a constant


def app_with_constant() -> Any:
    """The application, and `/constant`: as many bytes as a certificate's answer has."""
    from fastapi import Response

    from pairmark.http.server import app_of_environment

    app, size = app_of_environment(), int(os.environ["BENCH_CONSTANT_BYTES"])
    content = b'{"constant":"' + b"x" * (size - 15) + b'"}'

    @app.get("/constant", include_in_schema=False)
    async def constant() -> Response:
        return Response(content, 200, {"Cache-Control": "no-cache"}, "application/json")

    return app


def serve(port: int) -> None:
    """Two processes on one address, as `pairmark serve --workers 2` runs them."""
    from uvicorn.supervisors import Multiprocess

    from pairmark.adapters.telemetry.numbers import FOLDER_VARIABLE
    from pairmark.http.server import config_of, listening_socket
    from pairmark.http.settings import Settings

    settings = Settings.of(os.environ)
    with tempfile.TemporaryDirectory() as numbers, listening_socket("127.0.0.1", port) as listener:
        os.environ[FOLDER_VARIABLE] = numbers
        config = config_of(settings, "serving:app_with_constant")
        Multiprocess(config, sockets=[listener]).run()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, folder: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server, until the context ends."""
    import httpx

    paths = os.pathsep.join([str(HERE.parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "PAIRMARK_DATA_DIR": str(folder), "PAIRMARK_PORT": str(port), **variables}
    with (folder.parent / "server.log").open("wb") as log, subprocess.Popen(command, stderr=log, stdout=log, env=environment) as server:
        try:
            until = time.monotonic() + 120
            while True:
                try:
                    httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False, timeout=30)
                    break
                except httpx.TransportError:
                    if server.poll() is not None or time.monotonic() > until:
                        raise SystemExit((folder.parent / "server.log").read_text()) from None
                    time.sleep(0.1)
            yield server
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)


# the load


async def load(url: str, seconds: float) -> dict[str, float]:
    """Requests a second, and the 99th percentile of seconds for one, over kept connections that each ask again at once."""
    place = urlsplit(url)
    target = place.path + (f"?{place.query}" if place.query else "")
    request = f"GET {target} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()
    until, latencies = perf_counter() + seconds, []  # type: float, list[float]

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
        while perf_counter() < until:
            begin = perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"expected 200 from {target}, found {head[:200]!r}")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(length[1]) if length else 0)
            latencies.append(perf_counter() - begin)
        writer.close()

    await asyncio.gather(*(ask() for _ in range(CONNECTIONS)))
    latencies.sort()
    return {"rate": len(latencies) / seconds, "p99": latencies[int(len(latencies) * 0.99)]}


def apart(*arguments: str) -> dict[str, Any]:
    """A measurement in a process of its own."""
    done = subprocess.run([sys.executable, str(HERE), *arguments], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measured_reads(seconds: float) -> list[bool]:
    """Certificates and history against the constant, in turn; the best round of each counts."""
    from pairmark.domain.canonical import canonical_bytes
    from pairmark.domain.world import World

    with tempfile.TemporaryDirectory(prefix="pairmark-bench-") as name:
        folder, port = Path(name) / "data", free_port()
        folder.mkdir()
        plain = [sys.executable, "-m", "pairmark.cli.main", "serve"]
        with running(plain, port, folder):
            made = [certified(f"http://127.0.0.1:{port}", World().set("benign", 1, duration_ms=number)) for number in range(CERTIFICATES)]
        path, size = f"/v1/certificates/{made[0][0]}", made[0][1]
        suite = canonical_bytes(World().suite_manifest())
        label = f"{json.loads(suite)['suite']}@{json.loads(suite)['version']}"
        paths = {"constant": "/constant", "certificate": path, "history": f"/v1/history?suite={label}"}
        best: dict[str, dict[str, float]] = {}
        with running([sys.executable, str(HERE), "serve", str(port)], port, folder, BENCH_CONSTANT_BYTES=str(size), PAIRMARK_WORKERS=str(WORKERS)):
            for each in paths.values():
                apart("load", f"http://127.0.0.1:{port}{each}", "1")
            for _ in range(ROUNDS):
                for kind, each in paths.items():
                    found = apart("load", f"http://127.0.0.1:{port}{each}", str(seconds))
                    best[kind] = max(best.get(kind, found), found, key=lambda it: it["rate"])
    base = best["constant"]
    print(f"  constant of {size} bytes: {base['rate']:.0f}/s, p99 {base['p99'] * 1000:.1f} ms ({WORKERS} processes, {CONNECTIONS} connections)")
    share, slower = best["certificate"]["rate"] / base["rate"], best["certificate"]["p99"] / base["p99"]
    first = best["history"]
    print(
        f"   history, first page of {CERTIFICATES}: {first['rate']:.0f}/s = {first['rate'] / base['rate']:.0%} of the constant's,"
        f" p99 {first['p99'] * 1000:.1f} ms (beside, without a limit)"
    )
    return [
        said("certificate", f"{best['certificate']['rate']:.0f}/s = {share:.0%} of the constant's", f"at least {LEAST_THROUGHPUT:.0%}", share >= LEAST_THROUGHPUT),
        said("certificate p99", f"{best['certificate']['p99'] * 1000:.1f} ms = {slower:.2f} x the constant's", f"at most {MOST_P99:g} x", slower <= MOST_P99),
    ]


def certified(url: str, world: Any) -> tuple[str, int]:
    """A certificate of a world's pair, and the size of its answer."""
    import httpx

    from pairmark.domain.canonical import canonical_bytes

    with httpx.Client(base_url=url, trust_env=False, timeout=120) as client:
        json_type = {"Content-Type": "application/json"}
        client.post("/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=json_type).raise_for_status()
        ids = {}
        for role in world.sides:
            run = client.post("/v1/runs", content=canonical_bytes(world.run(role)), headers=json_type).raise_for_status().json()["id"]
            ledger = world.files()[f"{role}/episodes.jsonl"]
            client.put(f"/v1/runs/{run}/episodes", content=ledger, headers={"Content-Type": "application/x-ndjson"}).raise_for_status()
            ids[role] = run
        certificate = client.post("/v1/certifications", json={**ids, "policy": "standard/1"}).raise_for_status().json()["certificate"]
        return certificate, len(client.get(f"/v1/certificates/{certificate}").raise_for_status().content)


# uploads


def read_as_check(bundle: Path) -> dict[str, Any]:
    """Seconds that `pairmark check` takes to read a bundle."""
    from pairmark.adapters.ledgers.bundle import read_bundle

    best, digest, count = float("inf"), "", 0
    for _ in range(ROUNDS):
        begin = perf_counter()
        found = read_bundle(bundle, "attacked")
        best = min(best, perf_counter() - begin)
        digest, count = found.ledger_digest, found.ledger.height
    return {"seconds": best, "digest": digest, "count": count}


def write_bundle(folder: Path, episodes: int) -> dict[str, Any]:
    """A bundle of so many episodes in canonical order; its run document declares them."""
    from pairmark.adapters.ledgers.ingest import LedgerFormat, chunks_of, ingest_ledger
    from pairmark.domain.canonical import canonical_bytes
    from pairmark.domain.world import World

    folder.mkdir()
    subprocess.run([sys.executable, str(HERE.parent / "ledgers.py"), "write", str(folder), str(episodes)], check=True, stdout=subprocess.DEVNULL)
    (folder / "unsorted.jsonl").unlink()
    ledger = (folder / "ordered.jsonl").rename(folder / "episodes.jsonl")
    made = ingest_ledger(chunks_of(ledger), LedgerFormat("jsonl"), folder / "scratch")
    run = {**World().run("attacked"), "episodes": {"count": made.count, "digest": made.digest}}
    (folder / "run.json").write_bytes(canonical_bytes(run))
    made.path.unlink()
    (folder / "scratch").rmdir()
    return run


def measured_uploads() -> list[bool]:
    """The upload's seconds against a plain reading, and how the process grows with the ledger."""
    import httpx

    from pairmark.domain.canonical import canonical_bytes
    from pairmark.domain.world import World

    with tempfile.TemporaryDirectory(prefix="pairmark-bench-") as name:
        top, port = Path(name), free_port()
        folder = top / "data"
        folder.mkdir()
        runs = {episodes: json.loads(json.dumps(apart("bundle", str(top / str(episodes)), str(episodes)))) for episodes in (SMALL, LARGE)}
        reading = apart("read", str(top / str(SMALL)))
        plain = [sys.executable, "-m", "pairmark.cli.main", "serve"]
        peaks, best = {}, float("inf")
        with running(plain, port, folder) as server, httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=600) as client:
            json_type = {"Content-Type": "application/json"}
            client.post("/v1/suites", content=canonical_bytes(World().suite_manifest()), headers=json_type).raise_for_status()
            for episodes, rounds in ((SMALL, ROUNDS), (LARGE, 1)):
                for number in range(rounds):
                    for path in (folder / "objects").rglob("*"):  # each round stores its object anew
                        if path.is_file():
                            path.unlink()
                    run = {**runs[episodes], "started_at": f"2026-01-22T07:00:0{number}+00:00"}
                    run_id = client.post("/v1/runs", content=canonical_bytes(run), headers=json_type).raise_for_status().json()["id"]
                    begin = perf_counter()
                    with (top / str(episodes) / "episodes.jsonl").open("rb") as body:
                        client.put(f"/v1/runs/{run_id}/episodes", content=body, headers={"Content-Type": "application/x-ndjson"}).raise_for_status()
                    if episodes == SMALL:
                        best = min(best, perf_counter() - begin)
                peaks[episodes] = peak_of(server.pid)
    ratio, growth = best / reading["seconds"], peaks[LARGE] - peaks[SMALL]
    return [
        said("upload", f"{SMALL:,} episodes in {best:.2f} s, read in {reading['seconds']:.2f} s = {ratio:.2f} x", f"at most {MOST_UPLOAD:g} x", ratio <= MOST_UPLOAD),
        said("growth", f"peak {peaks[SMALL]} MiB at {SMALL:,} episodes, {peaks[LARGE]} MiB at {LARGE:,} = {growth} MiB", f"at most {MOST_GROWTH} MiB", growth <= MOST_GROWTH),
    ]


def peak_of(process: int) -> int:
    """The most memory a process has held, MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    if found is None:
        raise SystemExit("expected VmHWM in /proc, found none: this measurement needs Linux")
    return int(found[1]) // 1024


def said(name: str, found: str, limit: str, kept: bool) -> bool:
    """Print one result beside its limit."""
    print(f"{name:>10}: {found} ({limit}): {'kept' if kept else 'EXCEEDED'}")
    return kept


def main(arguments: list[str]) -> int:
    """All ratios; 1 where one is above its limit."""
    match arguments:
        case ["serve", port]:
            serve(int(port))
        case ["load", url, seconds]:
            print(json.dumps(asyncio.run(load(url, float(seconds)))))
        case ["read", bundle]:
            print(json.dumps(read_as_check(Path(bundle))))
        case ["bundle", folder, episodes]:
            print(json.dumps(write_bundle(Path(folder), int(episodes))))
        case ["reads", *rest]:
            return 0 if all(measured_reads(float(rest[0]) if rest else 5.0)) else 1
        case ["uploads"]:
            return 0 if all(measured_uploads()) else 1
        case _:
            kept = [*measured_reads(float(arguments[0]) if arguments else 5.0), *measured_uploads()]
            return 0 if all(kept) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
