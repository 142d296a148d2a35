"""Log entries, the status fold and single-row proofs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.errors import Malformed
from pairmark.provenance.entries import REASONS, Announcement, Body, Released, StatusChanged, entry_bytes, parse_entry
from pairmark.provenance.rows import ShownRow, prove_rows, row_leaves, rows_root
from pairmark.provenance.status import fold

DIGEST = "sha256:" + "a" * 64
AT = "2026-01-22T07:00:00Z"


def released(name: str) -> Released:
    return Released(certificate=name, envelope=DIGEST, suite=DIGEST, at=AT)


def changed(status: str, *names: str, by: str | None = None) -> Body:
    return StatusChanged.model_validate(
        {"certificates": names, "status": status, "reason": "suite-defect", "by": by, "envelope": DIGEST, "at": AT}
    )


def standing(*bodies: Body) -> dict[str, str]:
    entries = [(index, parse_entry(entry_bytes(body))) for index, body in enumerate(bodies)]
    return {name: found.status for name, found in fold(entries).items()}


def test_an_entry_survives_its_bytes_and_no_others() -> None:
    body = Announcement(run="run_1", document=DIGEST, suite=DIGEST, system=DIGEST, arm="benign", after_the_fact=False, at=AT)
    content = entry_bytes(body)
    assert parse_entry(content).body == body
    for other in (content + b"\n", content.replace(b"benign", b"beniga"), json.dumps(json.loads(content)).encode(), b"[]", b""):
        with pytest.raises(Malformed):
            parse_entry(other)


def test_revocation_is_final_and_a_superseded_certificate_can_still_be_revoked() -> None:
    assert standing(released("a"), changed("superseded", "a", by="b"), changed("revoked", "a")) == {"a": "revoked"}
    assert standing(released("a"), changed("revoked", "a"), changed("superseded", "a", by="b")) == {"a": "revoked"}
    assert standing(released("a"), released("b"), changed("revoked", "a", "b")) == {"a": "revoked", "b": "revoked"}


def test_a_change_before_the_release_has_no_effect() -> None:
    assert standing(changed("revoked", "a"), released("a")) == {"a": "valid"}


def test_reasons_are_a_closed_list() -> None:
    assert len(set(REASONS)) == 10
    content = entry_bytes(changed("revoked", "a")).replace(b"suite-defect", b"because")
    with pytest.raises(Malformed, match="known kind"):
        parse_entry(content)


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=40), st.data())
def test_a_row_proof_shows_its_row_and_no_other(lines: list[bytes], data: st.DataObject) -> None:
    secret = bytes(range(32))
    whole = rows_root(row_leaves(secret, lines))
    row = data.draw(st.integers(0, len(lines) - 1))
    (proof,) = prove_rows(secret, lines, [row])
    assert proof.holds(len(lines), whole)
    assert not ShownRow(row, proof.salt, proof.line + b" ", proof.path).holds(len(lines), whole)
    assert not ShownRow(row, bytes(32), proof.line, proof.path).holds(len(lines), whole)
    assert not proof.holds(len(lines), rows_root(row_leaves(bytes(32), lines)))
