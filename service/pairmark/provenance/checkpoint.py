"""Checkpoints (C2SP tlog-checkpoint) and receipts (C2SP tlog-proof) of the log."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pairmark.domain.errors import Malformed, shown
from pairmark.provenance.merkle import HASH_SIZE, verify_inclusion
from pairmark.provenance.note import (
    Note,
    NoteKey,
    Sign,
    decode_base64,
    encode_base64,
    parse_note,
    sign_note,
    verified_by,
)

PROOF_HEADER = "c2sp.org/tlog-proof@v1"
MAX_PATH = 63
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Checkpoint:
    """A tree head: the log's origin, how many entries, and their root."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The three lines that are signed."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"

    def signed(self, key: NoteKey, sign: Sign) -> bytes:
        """The checkpoint as a signed note."""
        return sign_note(self.text(), key, sign)


def _decimal(text: str, what: str) -> int:
    if _DECIMAL.fullmatch(text) is None:
        raise Malformed("invalid-checkpoint", f"expected {what} in decimal, found {shown(text)}", remedy="fetch it again")
    return int(text)


def checkpoint_of(note: Note) -> Checkpoint:
    """The tree head in a note's text. Extension lines are refused: this log writes none.

    Raises:
        Malformed: another shape.
    """
    lines = note.text.split("\n")
    if len(lines) != 4 or lines[3] or not lines[0]:
        raise Malformed("invalid-checkpoint", "expected origin, size and root on three lines", remedy="fetch it again")
    root = decode_base64(lines[2])
    if len(root) != HASH_SIZE:
        raise Malformed("invalid-checkpoint", f"expected a root of 32 bytes, found {len(root)}", remedy="fetch it again")
    return Checkpoint(lines[0], _decimal(lines[1], "a tree size"), root)


def open_checkpoint(data: bytes, origin: str, keys: tuple[NoteKey, ...]) -> Checkpoint:
    """The tree head of a signed checkpoint of this log.

    Raises:
        Malformed: another origin, no signature of one of `keys`, or a shape that is not a checkpoint.
    """
    note = parse_note(data)
    found = checkpoint_of(note)
    if found.origin != origin:
        raise Malformed(
            "wrong-origin", f"expected a checkpoint of {shown(origin)}, found {shown(found.origin)}",
            remedy="use the trust root of the log it comes from",
        )
    if not verified_by(note, keys):
        raise Malformed(
            "unsigned-checkpoint", "expected a signature of a trusted log key, found none", remedy="do not trust it"
        )
    return found


@dataclass(frozen=True)
class Receipt:
    """Where an entry stands in the log, its audit path, and the signed checkpoint it leads to (bytes as stored)."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: bytes

    def content(self) -> bytes:
        """The receipt in tlog-proof form."""
        lines = [PROOF_HEADER, f"index {self.index}", *map(encode_base64, self.path)]
        return ("\n".join(lines) + "\n\n").encode() + self.checkpoint

    def leads_to(self, leaf: bytes, head: Checkpoint) -> bool:
        """Whether `leaf` at this index is in the tree of `head`."""
        return verify_inclusion(leaf, self.index, head.size, self.path, head.root)


def parse_receipt(data: bytes) -> Receipt:
    """Read a receipt.

    Raises:
        Malformed: another header, a malformed index or hash, too long a path.
    """
    top, separator, rest = data.partition(b"\n\n")
    try:
        lines = top.decode("ascii").split("\n")
    except UnicodeDecodeError:
        lines = []
    if not separator or len(lines) < 2 or lines[0] != PROOF_HEADER or not lines[1].startswith("index "):
        raise Malformed("invalid-receipt", f"expected a {PROOF_HEADER} receipt", remedy="fetch it again")
    path = tuple(decode_base64(line) for line in lines[2:])
    if len(path) > MAX_PATH or any(len(node) != HASH_SIZE for node in path):
        raise Malformed("invalid-receipt", f"expected at most {MAX_PATH} hashes of 32 bytes", remedy="fetch it again")
    return Receipt(_decimal(lines[1].removeprefix("index "), "an index"), path, rest)
