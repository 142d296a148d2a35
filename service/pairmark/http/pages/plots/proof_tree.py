"""An inclusion proof as a tree: from the entry's leaf, with the hash beside it at every step, up to the root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pairmark.provenance.merkle import node_hash
from pairmark.provenance.note import decode_base64

STEP: Final = 64


@dataclass(frozen=True)
class Step:
    """Two hashes that are hashed together: the one on the way from the leaf, and its sibling at `side`."""

    own: str
    sibling: str
    side: str


@dataclass(frozen=True)
class ProofTree:
    """Steps from the leaf (lowest) to the root. `holds`: the path leads to the root that the log names."""

    steps: tuple[Step, ...]
    root: str
    holds: bool
    height: int


def proof_tree(proof: Mapping[str, Any]) -> ProofTree:
    """The way up, as RFC 9162 (2.1.3.2) walks it."""
    path = [decode_base64(node) for node in proof["path"]]
    here, at, last = decode_base64(proof["leaf"]), proof["index"], proof["size"] - 1
    steps = []
    for sibling in path:
        left = at % 2 == 1 or at == last
        steps.append(Step(here.hex(), sibling.hex(), "left" if left else "right"))
        if left:
            here = node_hash(sibling, here)
            while at % 2 == 0 and at != 0:
                at, last = at // 2, last // 2
        else:
            here = node_hash(here, sibling)
        at, last = at // 2, last // 2
    root = decode_base64(proof["root"])
    return ProofTree(tuple(steps), root.hex(), here == root, STEP * len(path))
