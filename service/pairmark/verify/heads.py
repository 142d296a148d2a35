"""Tree heads that a trusted log key signed, and an exported log that leads to one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pairmark.domain.errors import Malformed
from pairmark.provenance.bundle import Logged
from pairmark.provenance.checkpoint import Checkpoint, checkpoint_of, open_checkpoint
from pairmark.provenance.log_export import Replay, replay
from pairmark.provenance.merkle import NodeReader, leaf_hash, reader_of, root
from pairmark.provenance.note import NoteKey, parse_note
from pairmark.provenance.trust import TrustRoot

REFUSE = "do not trust it"


def head_of(checkpoint: bytes, trust: TrustRoot) -> Checkpoint:
    """The tree head of a checkpoint, every signature of which is by a log key that may sign for its last index.

    Raises:
        Malformed: another origin, or a signature that is not such a key's.
    """
    size = open_size(checkpoint)
    keys = tuple(NoteKey(trust.origin, public) for public in trust.keys_of("log", max(size - 1, 0)).values())
    head = open_checkpoint(checkpoint, trust.origin, keys)
    if len(parse_note(checkpoint).signatures) != 1:
        raise Malformed("extra-signature", "expected one signature, of the log; found more", remedy=REFUSE)
    return head


def open_size(checkpoint: bytes) -> int:
    """The size a checkpoint claims, before anything about it is believed. Raises Malformed."""
    return checkpoint_of(parse_note(checkpoint)).size


def proven_head(logged: Logged, trust: TrustRoot) -> Checkpoint:
    """The head that an entry's receipt leads to.

    Raises:
        Malformed: the checkpoint is not trusted, or the entry is not in its tree at the receipt's index.
    """
    receipt = logged.parsed_receipt
    head = head_of(receipt.checkpoint, trust)
    if not receipt.leads_to(leaf_hash(logged.entry), head):
        raise Malformed(
            "not-included", f"expected the entry at index {receipt.index} of the log of {head.size} entries, found that the proof does not "
            "lead to its root", remedy=REFUSE,
        )
    return head


@dataclass(frozen=True, eq=False)
class WholeLog:
    """An exported log whose entries have the root that its signed head says."""

    replay: Replay
    head: Checkpoint

    @cached_property
    def _read(self) -> NodeReader:
        return reader_of(self.replay.leaves)

    def root_at(self, size: int) -> bytes:
        """Root of its first `size` entries; `size` is at most the head's."""
        return root(self._read, size)


def read_log(data: bytes, trust: TrustRoot, *, file: str | None = None) -> WholeLog:
    """Replay a whole exported log in one pass.

    Raises:
        Malformed: not in form, not signed by a trusted log key, or entries that do not have the signed root.
    """
    found = replay(data, file=file)
    head = head_of(found.checkpoint, trust)
    whole = WholeLog(found, head)
    if head.size != len(found.entries):
        raise Malformed("incomplete-log", f"expected {head.size} entries as signed, found {len(found.entries)}", file, remedy=REFUSE)
    if whole.root_at(head.size) != head.root:
        raise Malformed("wrong-log", "expected entries with the signed root, found others", file, remedy=REFUSE)
    return whole
