"""Salted Merkle rows of a ledger, so that single episodes can be shown without the rest.

A leaf is SHA-256(0x00 || salt || canonical line). The salt of a row is HMAC-SHA256(secret, row number as 8 bytes), so that
somebody who sees one row's proof cannot guess the short list of possible contents of its neighbours.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from pairmark.domain.documents.base import Count, Strict
from pairmark.provenance.merkle import HASH_SIZE, inclusion_proof, leaf_hash, reader_of, root, verify_inclusion
from pairmark.provenance.note import decode_base64, encode_base64

SECRET_SIZE = 32
SALT_SIZE = 32


def salt_of(secret: bytes, row: int) -> bytes:
    """The salt of one row (0-based, canonical order)."""
    return hmac.digest(secret, row.to_bytes(8, "big"), "sha256")


def row_leaf(salt: bytes, line: bytes) -> bytes:
    """Leaf hash of one canonical line (with its newline)."""
    return leaf_hash(salt + line)


def row_leaves(secret: bytes, lines: Iterable[bytes]) -> list[bytes]:
    """Leaf hashes of a whole ledger."""
    return [row_leaf(salt_of(secret, row), line) for row, line in enumerate(lines)]


def rows_root(leaves: Sequence[bytes]) -> str:
    """`sha256:` and hex of the Merkle root over a ledger's row leaves."""
    return "sha256:" + root(reader_of(leaves), len(leaves)).hex()


class RowProof(Strict):
    """One shown row: its number, salt, canonical line and audit path (base64)."""

    row: Count
    salt: str
    line: str
    path: Annotated[tuple[str, ...], Field(max_length=63)]


@dataclass(frozen=True)
class ShownRow:
    """A row with what proves that it is in the ledger."""

    row: int
    salt: bytes
    line: bytes
    path: tuple[bytes, ...]

    def value(self) -> dict[str, Any]:
        """As a JSON value (`RowProof`)."""
        path = [encode_base64(node) for node in self.path]
        return {"row": self.row, "salt": encode_base64(self.salt), "line": encode_base64(self.line), "path": path}

    def holds(self, rows: int, expected_root: str) -> bool:
        """Whether the row is in the ledger of `rows` rows with this rows root."""
        if len(self.salt) != SALT_SIZE or len(expected_root) != 7 + 2 * HASH_SIZE:
            return False
        wanted = bytes.fromhex(expected_root.removeprefix("sha256:"))
        return verify_inclusion(row_leaf(self.salt, self.line), self.row, rows, self.path, wanted)


def shown_row(proof: RowProof) -> ShownRow:
    """Decode a row proof.

    Raises:
        Malformed: base64 that is not canonical.
    """
    return ShownRow(proof.row, decode_base64(proof.salt), decode_base64(proof.line), tuple(decode_base64(node) for node in proof.path))


def prove_rows(secret: bytes, lines: Sequence[bytes], wanted: Iterable[int]) -> list[ShownRow]:
    """Proofs of the wanted rows of a ledger."""
    read = reader_of(row_leaves(secret, lines))
    return [
        ShownRow(row, salt_of(secret, row), lines[row], tuple(inclusion_proof(read, row, len(lines)))) for row in wanted
    ]
