"""Reading Inspect logs against Inspect reading them itself: `python bench/inspect_logs.py [LOG...]` prints ratios with their limits.

The reader takes a log from path to ledger: archive measured, keys compared, samples parsed by Inspect's own API, deliveries searched,
digests taken.
The bare side is Inspect's own stream, `read_eval_log_samples`, which parses one sample after the other and throws it away. Both in
turn, on the same file, in one process. Without LOG, an `.eval` and a `.json` log are made: attacked samples of six model calls, with
the tools and an environment of some kilobytes each.

Memory is the peak of a process that reads a log, and of one that reads a log with four times the samples: what it grows by is bounded.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.importers.inspect import IMPORTER
from pairmark.importers.inspect.examples import (
    ASKED,
    DONE,
    MANIFEST,
    READ,
    SENT,
    SHOWN,
    call_of,
    log_text,
    returns,
    sample_of,
    scores_of,
)

LIMIT = 1.3
ROUNDS = 3
SAMPLES, JSON_SAMPLES = 240, 60
GROWTH = 64 * 2**20
ATTACKED = "attacked"


def main(paths: list[Path]) -> int:
    """All figures; 1 where one is above its limit."""
    with tempfile.TemporaryDirectory(prefix="pairmark-bench-") as folder:
        made = not paths
        if made:
            paths = [made_log(Path(folder) / "log.eval", SAMPLES), made_log(Path(folder) / "log.json", JSON_SAMPLES)]
        kept = [ratio(path, *measured(path, Path(folder))) for path in paths]
        if made:
            kept.append(growth(paths[0], made_log(Path(folder) / "four.eval", 4 * SAMPLES)))
    return 0 if all(kept) else 1


def measured(path: Path, folder: Path) -> tuple[float, float]:
    """Median seconds of Inspect's stream and of the reader. Each round has a copy: Inspect keeps the last `.json` log in memory."""
    suite = suite_of(path)
    seconds: list[list[float]] = [[], []]
    for number in range(ROUNDS):
        copy = Path(shutil.copy(path, folder / f"{number}-{path.name}"))
        for place, work in enumerate((stream, lambda log: read(log, suite))):
            seconds[place].append(timed(lambda work=work, copy=copy: work(copy)))  # type: ignore[misc]
    return median(seconds[0]), median(seconds[1])


def stream(path: Path) -> int:
    """What Inspect itself does: one sample after the other, thrown away."""
    from inspect_ai.log import read_eval_log_samples

    return sum(1 for _ in read_eval_log_samples(str(path), all_samples_required=False))


def timed(work: Callable[[], Any]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def ratio(path: Path, bare: float, ours: float) -> bool:
    """Print one line; whether the limit is kept."""
    found = ours / bare
    verdict = "kept" if found <= LIMIT else "EXCEEDED"
    print(f"{path.name}: {ours:.2f} s, Inspect's own stream {bare:.2f} s: {found:.2f} x, at most {LIMIT} x: {verdict}")
    return found <= LIMIT


def growth(small: Path, large: Path) -> bool:
    """Print how the peak grows with the samples; whether the limit is kept."""
    peaks = [peak_of(path) for path in (small, large)]
    found = peaks[1] - peaks[0]
    verdict = "kept" if found <= GROWTH else "EXCEEDED"
    print(
        f"peak memory of {SAMPLES} samples {peaks[0] / 2**20:.0f} MiB, of {4 * SAMPLES} {peaks[1] / 2**20:.0f} MiB:"
        f" grows by {found / 2**20:.0f} MiB, at most {GROWTH / 2**20:.0f} MiB: {verdict}"
    )
    return found <= GROWTH


def peak_of(path: Path) -> int:
    """Bytes that a process of its own held at most while it read the log."""
    done = subprocess.run([sys.executable, __file__, "--peak", str(path)], capture_output=True, check=True, text=True)
    return int(done.stdout.split()[-1])


def suite_of(path: Path) -> dict[str, Any]:
    """The manifest that the log is read for: the example's, or what the log shows."""
    from pairmark.adapters.inspect import export_from_logs

    return MANIFEST if path.name in ("log.eval", "log.json", "four.eval") else export_from_logs([path], "bench")


def read(path: Path, suite: dict[str, Any]) -> int:
    """The log as a ledger, of the arm that it has."""
    manifest = SuiteManifest.model_validate_json(canonical_bytes(suite))
    arm: Any = ATTACKED if suite["injections"] else "benign"
    return IMPORTER.read([path], suite=manifest, suite_digest=suite_digest(suite), arm=arm).episodes.height


def made_log(path: Path, count: int) -> Path:
    """A log of `count` samples, as Inspect's own writer writes it."""
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(io.BytesIO(log_text([made_sample(n) for n in range(count)], ["banking-u0-i0"], epochs=count).encode()), format="json")
    write_eval_log(log, str(path))
    return path


def made_sample(number: int) -> dict[str, Any]:
    """An attacked sample of six model calls."""
    tools = [
        {"name": f"tool_{n}", "description": "What it does. " * 12, "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}
        for n in range(11)
    ]
    said: list[Any] = [*ASKED]
    events = []
    for turn, (asked, result) in enumerate([(READ, SHOWN), (SENT, returns("Sent. " * 60, "send_money", 1))] * 3):
        answer = {**asked, "id": f"a{number}-{turn}"}
        events.append({**call_of(said, DONE if turn == 5 else answer, tools=tools), "uuid": f"e{number}-{turn}"})
        said = [*said, answer, {**result, "id": f"r{number}-{turn}"}]
    sample = sample_of(0, events, epoch=number + 1, messages=said, scores=scores_of("I", "C"), uuid=f"s{number}")
    sample["metadata"]["pre_environment"]["accounts"] = [{"id": n, "subject": "Rent and other things " * 4} for n in range(60)]
    copied: dict[str, Any] = json.loads(json.dumps(sample))
    return copied


def print_peak(path: Path) -> None:
    read(path, suite_of(path))
    # not `ru_maxrss`: a child starts with that of its parent
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    print(int(peak.split()[1]) * 1024)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print_peak(Path(sys.argv[2]))
    else:
        sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
