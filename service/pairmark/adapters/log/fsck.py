"""Whether a stored log is whole: every entry, node, checkpoint, the mark outside, and what history shows of it."""

from __future__ import annotations

from collections.abc import Iterator

from pairmark.adapters.log.mark import HighWaterMark
from pairmark.adapters.log.publisher import consistent_with_mark
from pairmark.app.log_records import LogRecord, Signing
from pairmark.app.ports import Database, Tables
from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.errors import Malformed, PairmarkError
from pairmark.provenance.checkpoint import open_checkpoint
from pairmark.provenance.entries import Entry, ReleasedEntry, parse_entry
from pairmark.provenance.frontier import Frontier
from pairmark.provenance.merkle import leaf_hash
from pairmark.provenance.status import fold

BATCH = 1000


def check_log(database: Database, signing: Signing, mark: HighWaterMark) -> Iterator[str]:
    """What is wrong, one line each; nothing when the log is whole. Reads one view, in one pass over the entries."""
    with database.reading() as tables:
        yield from _check(tables, signing, mark)


def _check(tables: Tables, signing: Signing, mark: HighWaterMark) -> Iterator[str]:
    head, edge = tables.log.head(), Frontier()
    checkpoints = {one.size: one for one in tables.log.checkpoints()}
    entries: list[tuple[int, Entry]] = []
    for record in _records(tables):
        if record.index != edge.size:
            yield f"expected entry {edge.size}, found {record.index}: entries are missing"
            return
        yield from _check_nodes(tables, edge, record)
        try:
            entry = parse_entry(record.entry)
        except Malformed as problem:
            yield f"entry {record.index}: {problem}"
            continue
        entries.append((record.index, entry))
        named = getattr(entry.body, "envelope", None)
        if named != (None if record.envelope is None else digest_of_bytes(record.envelope)):
            yield f"entry {record.index}: expected beside it the envelope {named or 'none'}, found another"
        signed = checkpoints.pop(edge.size, None)
        if signed is not None:
            yield from _check_checkpoint(signed.note, edge, signing)
    if (edge.size, edge.root()) != (head.size, head.root):
        yield f"expected the head of {edge.size} entries, found one of {head.size} or with another root"
    yield from (f"expected no checkpoint over {size} entries, found one: the log is shorter than what was signed" for size in checkpoints)
    try:
        consistent_with_mark(tables, mark)
    except PairmarkError as problem:
        yield str(problem)
    yield from _check_standing(tables, entries)


def _records(tables: Tables) -> Iterator[LogRecord]:
    start = 0
    while page := tables.log.page(start, BATCH):
        yield from page
        start = page[-1].index + 1


def _check_nodes(tables: Tables, edge: Frontier, record: LogRecord) -> Iterator[str]:
    for level, index, value in edge.append(leaf_hash(record.entry)):
        if tables.log.node(level, index) != value:
            yield f"entry {record.index}: expected node {index} of level {level} to follow from the entries, found another hash"


def _check_checkpoint(note: bytes, edge: Frontier, signing: Signing) -> Iterator[str]:
    try:
        found = open_checkpoint(note, signing.origin, signing.log_keys())
    except Malformed as problem:
        yield f"checkpoint over {edge.size} entries: {problem}"
        return
    if (found.size, found.root) != (edge.size, edge.root()):
        yield f"checkpoint over {edge.size} entries: expected the root of these entries, found another head"


def _check_standing(tables: Tables, entries: list[tuple[int, Entry]]) -> Iterator[str]:
    standing = fold(entries)
    for index, entry in entries:
        if isinstance(entry, ReleasedEntry):
            name = entry.body.certificate
            release, line = tables.log.release_of(name), tables.history.find(name)
            if release is None or release.index != index:
                yield f"entry {index}: expected certificate {name} to be stored as released here, found it otherwise"
            if line is None or line.status != standing[name].status:
                yield f"certificate {name}: expected history to show it {standing[name].status}, found {'nothing' if line is None else line.status}"
