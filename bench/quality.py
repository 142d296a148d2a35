"""The quality gate on a large ledger: `python bench/quality.py [EPISODES]` prints seconds, memory and the share of the second count.

A million episodes take a few seconds, of which the count in polars, made to check Great Expectations' own, is a small part.
"""

from __future__ import annotations

import resource
import sys
from time import perf_counter

import polars as pl

from pairmark.adapters.quality.gate import judge_ledger, recount
from pairmark.adapters.quality.suite_file import ledger_expectations
from pairmark.domain.world import World

MEBIBYTE = 1024.0


def ledger_of(episodes: int) -> pl.DataFrame:
    """A clean attacked ledger, tasks renamed so that every line is one of its kind, in canonical order."""
    part = World().frame("attacked")
    copies = -(-episodes // part.height)
    parts = (part.with_columns(pl.format("copy_{}_{}", pl.lit(f"{at:06d}"), "task_id").alias("task_id")) for at in range(copies))
    return pl.concat(parts).head(episodes)


def main(arguments: list[str]) -> int:
    """Print what one validation costs, after the library was imported."""
    episodes = int(arguments[0]) if arguments else 1_000_000
    suite, ledger = ledger_expectations(), ledger_of(episodes)
    started = perf_counter()
    judge_ledger(ledger.head(1), suite)
    imported = perf_counter() - started
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = perf_counter()
    recount(ledger, suite)
    second = perf_counter() - started
    started = perf_counter()
    result = judge_ledger(ledger, suite)
    seconds = perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / MEBIBYTE
    print(f"import and first ledger {imported:.1f} s; {result.rows} episodes, {len(result.expectations)} expectations")
    print(f"validation {seconds:.2f} s ({second / seconds:.0%} of it the second count), {grown:.0f} MiB on top")
    return 0 if result.success else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
