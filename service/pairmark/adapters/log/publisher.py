"""Publishing: a committed head is proven to extend all that was signed before, signed, and stored.

The order is: prove, move the mark, sign and store the checkpoint. The mark moves first, since a stored checkpoint can be read by
anybody at once; killed in between, the next start signs the same head again, to the same bytes.
"""

from __future__ import annotations

import threading

from pairmark.adapters.log.mark import HighWaterMark
from pairmark.app.errors import Unavailable
from pairmark.app.log_records import LogHead, Signing, StoredCheckpoint
from pairmark.app.ports import Database, Tables
from pairmark.domain.errors import Malformed
from pairmark.provenance.checkpoint import Checkpoint, open_checkpoint
from pairmark.provenance.merkle import NodeReader, consistency_proof, read_at_once, root, verify_consistency

REMEDY = (
    "the database is older than, or another than, what was signed: restore the newest copy; the signer never signs a fork."
    " See docs/log.md"
)


class Publisher:
    """Signs heads of one database's log. Safe for many threads and processes at once."""

    def __init__(self, database: Database, signing: Signing, mark: HighWaterMark) -> None:
        self._database, self._signing, self._mark = database, signing, mark
        self._one_at_a_time = threading.Lock()

    def publish(self) -> StoredCheckpoint | None:
        """A checkpoint over every entry committed before this call; None while the log is empty.

        Many callers who wait share one signature.

        Raises:
            Unavailable: the log does not extend what was signed before, or its head cannot be signed now.
        """
        with self._database.reading() as tables:
            wanted = tables.log.head().size
            there = tables.log.checkpoint(wanted)
        return there if there is not None or wanted == 0 else self._cover(wanted)

    def cover(self, size: int) -> StoredCheckpoint | None:
        """A checkpoint over at least `size` entries, signed now unless there is one."""
        with self._database.reading() as tables:
            there = tables.log.checkpoint(size)
        return there if there is not None or size == 0 else self._cover(size)

    def _cover(self, size: int) -> StoredCheckpoint | None:
        with self._one_at_a_time, self._mark.locked():
            return self._sign(size)

    def recover(self) -> StoredCheckpoint | None:
        """What a start does: prove that the log extends all that was signed, and publish what a killed process left unpublished."""
        with self._one_at_a_time, self._mark.locked():
            return self._sign()

    def require_publishable(self, tables: Tables, extended: LogHead) -> None:
        """What is asked before entries are committed: that the log they go to is the one whose heads were signed.

        Args:
            tables: of the transaction that logs.
            extended: the head that it locked and extends.

        Raises:
            Unavailable: saying what does not hold; nothing is stored then.
        """
        if self._mark.read() != extended:  # otherwise the entries follow on what was signed, by construction
            consistent_with_mark(tables, self._mark)

    def _sign(self, enough: int | None = None) -> StoredCheckpoint | None:
        """Sign the head, unless there is a checkpoint over `enough` entries by now."""
        with self._database.reading() as tables:
            last = tables.log.checkpoint()
            if enough is not None and last is not None and last.size >= enough:
                return last
            head, marked = tables.log.head(), self._mark.read()
            signed = None if last is None else self._signed_head(last)
            read = _nodes_for(tables, head, marked, signed)
            if head.size and root(read, head.size) != head.root:
                raise _refusal(f"expected the stored tree of {head.size} entries to have the stored root, found another")
            _require_mark(head, marked, signed, self._mark, read)
            if signed is not None and signed != marked:
                _require_extends(head, signed, "the last checkpoint", read)
            if signed is not None and signed.size == head.size and marked is not None and marked.size >= head.size:
                return last
        if head.size == 0:
            return None
        self._mark.advance(head)
        made = StoredCheckpoint(head.size, self._signing.sign_checkpoint(Checkpoint(self._signing.origin, head.size, head.root)))
        self._database.write(lambda tables: _keep(tables, made))
        return made

    def _signed_head(self, stored: StoredCheckpoint) -> LogHead:
        try:
            found = open_checkpoint(stored.note, self._signing.origin, self._signing.log_keys())
        except Malformed as problem:
            raise _refusal(f"expected the last checkpoint signed by this log's key, found: {problem.message}") from None
        if found.size != stored.size:
            raise _refusal(f"expected the last checkpoint over {stored.size} entries, found {found.size}")
        return LogHead(found.size, found.root)


def consistent_with_mark(tables: Tables, mark: HighWaterMark) -> None:
    """Refuse a log that does not extend what the mark says was signed.

    Raises:
        Unavailable: saying what does not hold.
    """
    marked, last, head = mark.read(), tables.log.checkpoint(), tables.log.head()
    signed = None if last is None else LogHead(last.size, b"")
    _require_mark(head, marked, signed, mark, _nodes_for(tables, head, marked))


def _nodes_for(tables: Tables, head: LogHead, *olds: LogHead | None) -> NodeReader:
    """The nodes that the head's root, and the proofs that it extends older heads, are made of."""

    def work(read: NodeReader) -> None:
        root(read, head.size)
        for old in olds:
            if old is not None and 0 < old.size <= head.size:
                consistency_proof(read, old.size, head.size)

    return read_at_once(tables.log.nodes, work)


def _require_mark(head: LogHead, marked: LogHead | None, signed: LogHead | None, mark: HighWaterMark, read: NodeReader) -> None:
    if marked is None and signed is not None:
        raise _refusal(f"expected the high-water mark {mark.path}, found none although {signed.size} entries were signed")
    if marked is not None:
        _require_extends(head, marked, f"what the high-water mark {mark.path} says was signed", read)


def _keep(tables: Tables, made: StoredCheckpoint) -> None:
    if tables.log.checkpoint_of(made.size) is None:
        tables.log.add_checkpoint(made)


def _require_extends(head: LogHead, old: LogHead, what: str, read: NodeReader) -> None:
    """Refuse a head that does not extend `old`."""
    if old.size > head.size:
        raise _refusal(f"expected a log of at least {old.size} entries ({what}), found {head.size}")
    if old.size == 0:
        return
    proof = consistency_proof(read, old.size, head.size)
    if not verify_consistency(old.size, head.size, proof, old.root, head.root):
        raise _refusal(f"expected the log to extend the {old.size} entries of {what}, found other entries among them")


def _refusal(message: str) -> Unavailable:
    return Unavailable("log-forked", message, REMEDY, 3600)
