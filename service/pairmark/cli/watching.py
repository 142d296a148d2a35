"""Watching a log from outside: the right edge of the tree seen last, and the new entries, must give the newly signed root."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Malformed
from pairmark.provenance.entries import StatusEntry, TrustEntry, parse_entry
from pairmark.provenance.frontier import Frontier
from pairmark.provenance.merkle import leaf_hash
from pairmark.provenance.trust import TrustRoot

if TYPE_CHECKING:
    from pairmark.client.log_calls import LogCalls

SCHEMA = "pairmark/monitor-state/v1"


@dataclass(frozen=True)
class WatchState:
    """The largest tree seen of a log, by the hashes along its right edge."""

    origin: str
    size: int
    peaks: tuple[bytes, ...]


@dataclass(frozen=True)
class Watched:
    """What was seen now, and what a person should know of it."""

    state: WatchState
    lines: tuple[str, ...]


def read_state(path: Path, origin: str) -> WatchState:
    """The state file; an empty state where there is none.

    Raises:
        Malformed: no such file's shape, or of another log.
    """
    if not path.exists():
        return WatchState(origin, 0, ())
    try:
        value = json.loads(path.read_bytes())
        found = WatchState(value["origin"], value["size"], tuple(bytes.fromhex(peak) for peak in value["peaks"]))
        Frontier.of(found.size, found.peaks)
        whole = value["schema"] == SCHEMA
    except (ValueError, KeyError, TypeError, AttributeError):
        whole, found = False, WatchState("", 0, ())
    if not whole or found.origin != origin:
        raise Malformed(
            "bad-state", f"expected the state of a monitor of {origin}, found another file", str(path), remedy="name another file for this log"
        )
    return found


def write_state(path: Path, state: WatchState) -> None:
    """Bring the state file up to date."""
    from pairmark.cli.whole_files import write_whole

    peaks = [peak.hex() for peak in state.peaks]
    write_whole(path, [canonical_bytes({"schema": SCHEMA, "origin": state.origin, "size": state.size, "peaks": peaks}) + b"\n"])


def watch(log: LogCalls, trust: TrustRoot, before: WatchState) -> Watched:
    """Fetch the newest checkpoint and the entries since `before`.

    Raises:
        Malformed: a checkpoint that the log's key did not sign, a log that shrank, or entries that do not give its root.
    """
    from pairmark.verify.heads import head_of

    head = head_of(log.checkpoint(), trust)
    if head.size < before.size:
        raise Malformed("log-shrank", f"expected at least the {before.size} entries seen before, found a signed head of {head.size}", remedy="do not trust it")
    edge, lines = Frontier.of(before.size, before.peaks), list[str]()
    for item in log.entries(before.size, head.size):
        data = canonical_bytes(item.entry)
        if item.index != edge.size:
            raise Malformed("entry-missing", f"expected log entry {edge.size}, found {item.index}", remedy="do not trust it")
        edge.append(leaf_hash(data))
        lines.extend(_notable(item.index, data))
    if (edge.size, edge.root()) != (head.size, head.root):
        raise Malformed(
            "log-forked", f"expected the entries seen and the new ones to give the signed root over {head.size} entries, found another",
            remedy="do not trust it",
        )
    return Watched(WatchState(before.origin, edge.size, tuple(edge.peaks)), tuple(lines))


def _notable(index: int, data: bytes) -> Iterator[str]:
    entry = parse_entry(data)
    if isinstance(entry, StatusEntry):
        for name in entry.body.certificates:
            yield f"{index}  {entry.body.status}  {name}  {entry.body.reason}"
    elif isinstance(entry, TrustEntry):
        yield f"{index}  trust root version {entry.body.version}"
