"""The Merkle tree against the roots of RFC 6962's reference leaves and against its own definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pairmark.provenance import merkle

# Leaves and roots of the certificate-transparency reference tests (RFC 6962, MTH of the first n leaves).
LEAVES = [bytes.fromhex(text) for text in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def naive_root(hashes: list[bytes]) -> bytes:
    """The recursive definition of RFC 9162, 2.1.1."""
    if not hashes:
        return merkle.EMPTY_ROOT
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return merkle.node_hash(naive_root(hashes[:split]), naive_root(hashes[split:]))


def test_roots_are_the_published_ones() -> None:
    read = merkle.reader_of([merkle.leaf_hash(leaf) for leaf in LEAVES])
    assert [merkle.root(read, size).hex() for size in range(9)] == ROOTS


def test_every_proof_of_every_tree_up_to_33_leaves_verifies_and_no_neighbour_does() -> None:
    hashes = [merkle.leaf_hash(bytes([number])) for number in range(33)]
    read = merkle.reader_of(hashes)
    for size in range(1, 34):
        top = merkle.root(read, size)
        assert top == naive_root(hashes[:size])
        for index in range(size):
            path = merkle.inclusion_proof(read, index, size)
            assert merkle.verify_inclusion(hashes[index], index, size, path, top)
            assert not merkle.verify_inclusion(hashes[(index + 1) % 33], index, size, path, top)
            assert not merkle.verify_inclusion(hashes[index], index, size, [*path, top], top)
            assert size == 1 or not merkle.verify_inclusion(hashes[index], index, size, path[:-1], top)
        for old in range(1, size + 1):
            path = merkle.consistency_proof(read, old, size)
            old_root = merkle.root(read, old)
            assert merkle.verify_consistency(old, size, path, old_root, top)
            assert old == size or not merkle.verify_consistency(old, size, path, top, top)
            assert not merkle.verify_consistency(old, size, [*path, top], old_root, top)


@given(st.integers(1, 200), st.data())
def test_a_changed_byte_in_a_proof_is_refused(size: int, data: st.DataObject) -> None:
    hashes = [merkle.leaf_hash(number.to_bytes(2)) for number in range(size)]
    read = merkle.reader_of(hashes)
    index = data.draw(st.integers(0, size - 1))
    path = merkle.inclusion_proof(read, index, size)
    if path:
        place = data.draw(st.integers(0, len(path) - 1))
        changed = bytearray(path[place])
        changed[data.draw(st.integers(0, 31))] ^= data.draw(st.integers(1, 255))
        path[place] = bytes(changed)
        assert not merkle.verify_inclusion(hashes[index], index, size, path, merkle.root(read, size))


@given(st.integers(1, 300))
def test_appending_leaf_by_leaf_stores_each_complete_subtree_once(size: int) -> None:
    hashes = [merkle.leaf_hash(number.to_bytes(2)) for number in range(size)]
    stored: dict[tuple[int, int], bytes] = {}

    def read(level: int, index: int) -> bytes:
        return stored[level, index]

    for index, leaf in enumerate(hashes):
        stored[0, index] = leaf
        for level, place, node in merkle.completed_nodes(read, index, leaf):
            assert (level, place) not in stored
            stored[level, place] = node
    assert merkle.root(read, size) == naive_root(hashes)
