"""The chain of trust roots: what a rotation may do, and the tricks that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.errors import Malformed
from pairmark.provenance import dsse
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.public_keys import key_id
from pairmark.provenance.trust import ROLES, TrustChain, parse_trust, verify_chain

KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in range(1, 8)]
IDS = [key_id(public_bytes(key)) for key in KEYS]


def root(version: int, *, root_keys: tuple[int, ...] = (0,), threshold: int = 1, known: int = 5, **changes: Any) -> dict[str, Any]:
    keys = {
        IDS[n]: {"keytype": "ed25519", "scheme": "ed25519", "public": public_bytes(KEYS[n]).hex(), "valid_from": 0, "valid_until": None}
        for n in range(known)
    }
    roles = {name: {"threshold": 1, "keyids": [IDS[1 + place]]} for place, name in enumerate(ROLES[1:])}
    roles["root"] = {"threshold": threshold, "keyids": [IDS[n] for n in root_keys]}
    return {"schema": "pairmark/trust/v1", "version": version, "origin": "log.example", "keys": keys, "roles": roles, **changes}


def signed(value: dict[str, Any], *signers: int) -> dsse.Envelope:
    return dsse.sign(dsse.TRUST, canonical_bytes(value), [(public_bytes(KEYS[n]), KEYS[n].sign) for n in signers])


def test_a_chain_signed_by_old_and_new_root_holds_and_round_trips() -> None:
    chain = verify_chain((signed(root(1), 0), signed(root(2, root_keys=(4,)), 0, 4), signed(root(3, root_keys=(4,)), 4)))
    assert chain.current.version == 3
    assert isinstance(parse_trust(chain.content(), pinned=chain.root_digest), TrustChain)


def test_another_pinned_root_is_refused() -> None:
    chain = verify_chain((signed(root(1), 0),))
    with pytest.raises(Malformed, match="wrong-root"):
        parse_trust(chain.content(), pinned=digest_of_bytes(b"other"))


REOPENED = root(2)["keys"] | {IDS[1]: {**root(2)["keys"][IDS[1]], "valid_until": 9}}
REFUSED = {
    "signed by the new root only": ((signed(root(1), 0), signed(root(2, root_keys=(4,)), 4)), "threshold-not-met"),
    "signed by the old root only": ((signed(root(1), 0), signed(root(2, root_keys=(4,)), 0)), "threshold-not-met"),
    "a version left out": ((signed(root(1), 0), signed(root(3), 0)), "expected version 2"),
    "rolled back": ((signed(root(1), 0), signed(root(1), 0)), "expected version 2"),
    "not from the first": ((signed(root(2), 0),), "expected version 1 first"),
    "another origin": ((signed(root(1), 0), signed(root(2, origin="fork.example"), 0)), "expected origin"),
    "a key taken out": ((signed(root(1), 0), signed(root(2, known=4), 0)), "to keep key"),
    "a window opened again": ((signed(root(1, keys=REOPENED), 0), signed(root(2), 0)), "to stay closed"),
    "signed by a key of another role": ((signed(root(1), 1),), "unknown-key"),
    "a threshold of two met by one": ((signed(root(1, root_keys=(0, 4), threshold=2), 0),), "threshold-not-met"),
    "a threshold nobody can meet": ((signed(root(1, threshold=2), 0),), "can meet"),
    "a threshold of none": ((signed(root(1, threshold=0), 0),), "threshold"),
    "no version": ((), "invalid-trust"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tricks_are_refused(name: str) -> None:
    envelopes, words = REFUSED[name]
    with pytest.raises(Malformed, match=words):
        verify_chain(envelopes)


def test_a_key_under_an_id_that_is_not_its_own_is_refused() -> None:
    keys = root(1)["keys"]
    swapped = {**keys, IDS[0]: keys[IDS[1]]}
    with pytest.raises(Malformed, match="under its own id"):
        verify_chain((signed(root(1, keys=swapped), 0),))


def test_a_key_of_small_order_is_refused() -> None:
    weak = bytes(32)
    keys = root(1)["keys"] | {
        key_id(weak): {"keytype": "ed25519", "scheme": "ed25519", "public": weak.hex(), "valid_from": 0, "valid_until": None}
    }
    with pytest.raises(Malformed, match="large order"):
        verify_chain((signed(root(1, keys=keys), 0),))


def test_keys_sign_only_for_the_indices_of_their_window() -> None:
    keys = root(1)["keys"]
    keys[IDS[1]] |= {"valid_from": 3, "valid_until": 9}
    current = verify_chain((signed(root(1, keys=keys), 0),)).current
    assert [bool(current.keys_of("certifier", index)) for index in (2, 3, 8, 9)] == [False, True, True, False]


def test_a_chain_that_was_reformatted_is_refused() -> None:
    with pytest.raises(Malformed, match="not-canonical"):
        parse_trust(verify_chain((signed(root(1), 0),)).content() + b"\n")
