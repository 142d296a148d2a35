"""Read the log: checkpoints, entries, proofs and receipts."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.app.log_records import LogRecord, StoredCheckpoint
from pairmark.app.ports import Tables
from pairmark.app.stored import Damaged
from pairmark.domain.errors import Malformed, NotFound
from pairmark.provenance.checkpoint import Receipt, checkpoint_of
from pairmark.provenance.merkle import consistency_proof, inclusion_proof, leaf_hash, root
from pairmark.provenance.note import parse_note


@dataclass(frozen=True)
class LogPage:
    """Entries from `start` on, below the published `size`; `next` is where the following page starts, None at the end."""

    size: int
    entries: tuple[LogRecord, ...]
    next: int | None


@dataclass(frozen=True)
class InclusionProof:
    """That the entry with this leaf hash stands at `index` in the tree of `size` entries; a receipt where that was signed."""

    index: int
    size: int
    root: bytes
    leaf: bytes
    path: tuple[bytes, ...]
    receipt: bytes | None


@dataclass(frozen=True)
class ConsistencyProof:
    """That the tree of `first` entries is the beginning of that of `size`."""

    first: int
    size: int
    first_root: bytes
    root: bytes
    path: tuple[bytes, ...]


def newest_checkpoint(tables: Tables) -> StoredCheckpoint:
    """The newest signed head.

    Raises:
        NotFound: nothing was published yet.
    """
    found = tables.log.checkpoint()
    if found is None:
        raise NotFound("no-checkpoint", "expected a published log, found it empty", "announce a run first")
    return found


def log_page(tables: Tables, start: int, limit: int) -> LogPage:
    """Published entries."""
    size = newest_checkpoint(tables).size
    entries = tables.log.page(start, min(limit, max(size - start, 0)))
    following = start + len(entries)
    return LogPage(size, entries, following if entries and following < size else None)


def inclusion(tables: Tables, index: int, size: int | None) -> InclusionProof:
    """Proof of one entry in the published tree of `size` entries, by default the newest.

    Raises:
        Malformed: an index that is not in that tree, or a tree that is larger than what was published.
    """
    published = newest_checkpoint(tables).size
    wanted = published if size is None else size
    _require_published(wanted, published)
    if not 0 <= index < wanted:
        raise Malformed("invalid-parameter", f"expected `index` below the tree size {wanted}, found {index}", remedy="ask for an entry that is there")
    record = tables.log.of_index(index)
    if record is None:
        raise Damaged(f"expected log entry {index}, found none; restore the database from a backup")
    path = tuple(inclusion_proof(tables.log.node, index, wanted))
    signed = tables.log.checkpoint_of(wanted)
    receipt = None if signed is None else Receipt(index, path, signed.note).content()
    return InclusionProof(index, wanted, _root(tables, wanted), leaf_hash(record.entry), path, receipt)


def consistency(tables: Tables, first: int, size: int | None) -> ConsistencyProof:
    """Proof that the published log grew from `first` to `size` entries, by default the newest size."""
    published = newest_checkpoint(tables).size
    wanted = published if size is None else size
    _require_published(wanted, published)
    if not 0 < first <= wanted:
        raise Malformed("invalid-parameter", f"expected `first` from 1 to {wanted}, found {first}", remedy="ask for a smaller tree")
    path = tuple(consistency_proof(tables.log.node, first, wanted))
    return ConsistencyProof(first, wanted, _root(tables, first), _root(tables, wanted), path)


def receipt_of(tables: Tables, index: int) -> bytes:
    """The receipt of an entry under the newest checkpoint.

    Raises:
        NotFound: no checkpoint covers it yet.
    """
    signed = tables.log.checkpoint(index + 1)
    if signed is None:
        raise NotFound("not-published", f"expected log entry {index} to be published, found it is not yet", "ask again a little later")
    path = tuple(inclusion_proof(tables.log.node, index, signed.size))
    return Receipt(index, path, signed.note).content()


def _require_published(size: int, published: int) -> None:
    if not 0 < size <= published:
        raise Malformed(
            "invalid-parameter", f"expected a tree size from 1 to the published {published}, found {size}", remedy="ask for a published tree"
        )


def _root(tables: Tables, size: int) -> bytes:
    signed = tables.log.checkpoint_of(size)
    if signed is not None:
        return checkpoint_of(parse_note(signed.note)).root
    return root(tables.log.node, size)
