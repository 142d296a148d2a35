"""Merkle tree of RFC 9162 (2.1) with SHA-256: roots, inclusion and consistency proofs, and their verification.

Hashes are 32 bytes. A leaf hash is SHA-256(0x00 || entry), a node hash SHA-256(0x01 || left || right).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

EMPTY_ROOT = hashlib.sha256(b"").digest()
HASH_SIZE = 32

NodeReader = Callable[[int, int], bytes]
"""(level, index) -> hash of the complete subtree over leaves [index·2^level, (index + 1)·2^level)."""


def leaf_hash(entry: bytes) -> bytes:
    """Hash of one entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def reader_of(leaves: Sequence[bytes]) -> NodeReader:
    """A node reader over leaf hashes held in memory; computed nodes are kept."""
    kept: dict[tuple[int, int], bytes] = {}

    def read(level: int, index: int) -> bytes:
        if level == 0:
            return leaves[index]
        found = kept.get((level, index))
        if found is None:
            found = kept[level, index] = node_hash(read(level - 1, 2 * index), read(level - 1, 2 * index + 1))
        return found

    return read


def read_at_once(fetch: Callable[[Sequence[tuple[int, int]]], Sequence[bytes]], work: Callable[[NodeReader], object]) -> NodeReader:
    """A reader of the nodes that `work` reads, all fetched in one go. Which nodes it reads must not depend on what they hold."""
    asked: dict[tuple[int, int], bytes] = {}

    def note(level: int, index: int) -> bytes:
        asked[level, index] = EMPTY_ROOT
        return EMPTY_ROOT

    work(note)
    found = dict(zip(asked, fetch(list(asked)), strict=True))
    return lambda level, index: found[level, index]


def _range_root(read: NodeReader, start: int, end: int) -> bytes:
    """Root of leaves [start, end), where start is a multiple of the largest power of two below the length."""
    length = end - start
    if length & (length - 1) == 0:
        level = length.bit_length() - 1
        return read(level, start >> level)
    split = start + _split(length)
    return node_hash(_range_root(read, start, split), _range_root(read, split, end))


def _split(length: int) -> int:
    """Largest power of two below `length` (length > 1)."""
    return 1 << ((length - 1).bit_length() - 1)


def root(read: NodeReader, size: int) -> bytes:
    """Root of the first `size` leaves; the empty tree's root is SHA-256 of nothing."""
    return EMPTY_ROOT if size == 0 else _range_root(read, 0, size)


def completed_nodes(read: NodeReader, index: int, leaf: bytes) -> list[tuple[int, int, bytes]]:
    """The complete subtrees that appending `leaf` at `index` finishes, as (level, index, hash), level 1 upwards."""
    done: list[tuple[int, int, bytes]] = []
    level, current = 0, leaf
    while index & 1:
        current = node_hash(read(level, index - 1), current)
        level, index = level + 1, index >> 1
        done.append((level, index, current))
    return done


def inclusion_proof(read: NodeReader, index: int, size: int) -> list[bytes]:
    """Audit path of leaf `index` in the tree of `size` leaves (RFC 9162, 2.1.3.1).

    Raises:
        ValueError: the leaf is not in the tree.
    """
    if not 0 <= index < size:
        raise ValueError(f"expected an index below the tree size {size}, found {index}")
    path: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        split = start + _split(end - start)
        if index < split:
            path.append(_range_root(read, split, end))
            end = split
        else:
            path.append(_range_root(read, start, split))
            start = split
    return path[::-1]


def consistency_proof(read: NodeReader, old: int, new: int) -> list[bytes]:
    """Proof that the tree of `old` leaves is a prefix of that of `new` leaves (RFC 9162, 2.1.4.1).

    Raises:
        ValueError: unless 0 < old <= new.
    """
    if not 0 < old <= new:
        raise ValueError(f"expected 0 < old size <= new size, found {old} and {new}")
    path: list[bytes] = []
    start, end, whole = 0, new, True
    while end != old:
        split = start + _split(end - start)
        if old <= split:
            path.append(_range_root(read, split, end))
            end = split
        else:
            path.append(_range_root(read, start, split))
            start, whole = split, False
    if not whole:
        path.append(_range_root(read, start, end))
    return path[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], expected_root: bytes) -> bool:
    """RFC 9162, 2.1.3.2."""
    if not 0 <= index < size or any(len(node) != HASH_SIZE for node in (leaf, *path)):
        return False
    place, last, current = index, size - 1, leaf
    for node in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            current = node_hash(node, current)
            while not place & 1 and place != 0:
                place, last = place >> 1, last >> 1
        else:
            current = node_hash(current, node)
        place, last = place >> 1, last >> 1
    return last == 0 and current == expected_root


def verify_consistency(old: int, new: int, path: Sequence[bytes], old_root: bytes, new_root: bytes) -> bool:
    """RFC 9162, 2.1.4.2. Equal sizes need equal roots and an empty path; from an empty tree nothing can be shown."""
    if not 0 < old <= new or any(len(node) != HASH_SIZE for node in path):
        return False
    if old == new:
        return not path and old_root == new_root
    if not path:
        return False
    nodes = list(path)
    if old & (old - 1) == 0:
        nodes.insert(0, old_root)
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    first = second = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            first, second = node_hash(node, first), node_hash(node, second)
            while not place & 1 and place != 0:
                place, last = place >> 1, last >> 1
        else:
            second = node_hash(second, node)
        place, last = place >> 1, last >> 1
    return last == 0 and first == old_root and second == new_root
