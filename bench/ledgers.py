"""Taking in a large ledger against merely parsing it: `python bench/ledgers.py [EPISODES]` prints two ratios and peak memory.

A JSONL file is read, strictly checked, digested and written as a Parquet object, once in canonical order and once shuffled
(external sort). Against it stands `orjson.loads` and SHA-256 over the same lines, already split and in memory. Each runs in a
process of its own, three times in turn; the best counts. Memory is the peak of a whole process, imports included.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

ROUNDS = 3
LIMITS = {"ordered": 3.0, "unsorted": 6.0}
MEMORY = 600
EPOCHS, INJECTIONS = 5, 100
SMALLEST = 1_000


def write_ledgers(episodes: int, folder: Path) -> None:
    """The same episodes twice: one in 100 aborted, every transcript digest different."""
    import numpy as np
    import polars as pl

    random = np.random.Generator(np.random.PCG64(1))
    row = np.arange(episodes)
    task = row // (INJECTIONS * EPOCHS)
    aborted = random.random(episodes) < 0.01
    hexadecimal = random.bytes(32 * episodes).hex()
    digests = [f"sha256:{hashlib.sha256(b'%d' % number).hexdigest()}" for number in range(int(task[-1]) + 1)]
    frame = pl.DataFrame(
        {
            "task_id": pl.Series(task).cast(pl.String).str.zfill(6).str.replace("^", "user_task_"),
            "injection_id": pl.Series(row // EPOCHS % INJECTIONS).cast(pl.String).str.zfill(3).str.replace("^", "injection_task_"),
            "epoch": row % EPOCHS + 1,
            "status": pl.Series(aborted).replace_strict({True: "infra_error", False: "completed"}),
            "utility": random.random(episodes) < 0.6,
            "attack_success": random.random(episodes) < 0.3,
            "delivered": random.random(episodes) < 0.9,
            "attacker_actions": random.integers(0, 4, episodes),
            "served_model": ["model-x-2026-01-01"] * episodes,
            "duration_ms": random.integers(500, 90_000, episodes),
            "error": pl.Series(aborted).replace_strict({True: "HTTP 503: service unavailable", False: None}, return_dtype=pl.String),
            "task_digest": pl.Series(digests).gather(task),
            "transcript_digest": [f"sha256:{hexadecimal[at : at + 64]}" for at in range(0, 64 * episodes, 64)],
            "attempt": [1] * episodes,
        }
    ).with_columns(pl.when(pl.Series(aborted)).then(None).otherwise(pl.col("utility", "attack_success")).name.keep())
    frame.write_ndjson(folder / "ordered.jsonl")
    frame[random.permutation(episodes)].write_ndjson(folder / "unsorted.jsonl")


def parse(path: Path) -> dict[str, Any]:
    """What a lenient reader does at the very least."""
    import orjson

    lines = path.read_bytes().splitlines(keepends=True)
    running = hashlib.sha256()
    started = perf_counter()
    for line in lines:
        orjson.loads(line)
        running.update(line)
    return {"seconds": perf_counter() - started}


def ingest(path: Path) -> dict[str, Any]:
    """What Pairmark does."""
    from pairmark.adapters.ledgers.ingest import LedgerFormat, chunks_of, ingest_ledger

    started = perf_counter()
    made = ingest_ledger(chunks_of(path), LedgerFormat("jsonl"), path.parent / "objects", file=path.name)
    seconds = perf_counter() - started
    size = made.path.stat().st_size
    made.path.unlink()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "memory": memory, "digest": made.digest, "size": size / max(made.count, 1)}


def _apart(what: str, path: Path, *more: str) -> dict[str, Any]:
    """The result of one measurement in a process of its own."""
    done = subprocess.run([sys.executable, __file__, what, str(path), *more], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(arguments: list[str]) -> int:
    """Print the ratios; 0 whatever they are."""
    if arguments[:1] in (["parse"], ["ingest"]):
        print(json.dumps({"parse": parse, "ingest": ingest}[arguments[0]](Path(arguments[1]))))
        return 0
    if arguments[:1] == ["write"]:
        write_ledgers(int(arguments[2]), Path(arguments[1]))
        print("{}")
        return 0
    episodes = int(arguments[0]) if arguments else 1_000_000
    if episodes < SMALLEST:
        raise SystemExit(f"expected at least {SMALLEST} episodes, found {episodes}")
    with tempfile.TemporaryDirectory(prefix="pairmark-bench-") as name:
        folder = Path(name)
        # Apart as well, since a process counts the peak of the one that started it as its own.
        _apart("write", folder, str(episodes))
        digests = set()
        for order, limit in LIMITS.items():
            path = folder / f"{order}.jsonl"
            rounds = [(_apart("parse", path), _apart("ingest", path)) for _ in range(ROUNDS)]
            parsed = min(bare["seconds"] for bare, _ in rounds)
            best = min((made for _, made in rounds), key=lambda made: made["seconds"])
            memory = max(made["memory"] for _, made in rounds)
            digests |= {made["digest"] for _, made in rounds}
            print(
                f"{order:>9}: {episodes:,} episodes, {best['seconds']:.2f} s against {parsed:.2f} s = {best['seconds'] / parsed:.2f} x"
                f" (wanted at most {limit:g} x), peak {memory:.0f} MiB (at most {MEMORY}), {best['size']:.1f} B/episode"
            )
    if len(digests) != 1:
        raise SystemExit(f"expected one digest whatever the order, found {sorted(digests)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
