"""A proof that shows single episodes of a private ledger (`pairmark/rows/v1`): rows, salts and paths to the root in a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Digest, Identifier, Strict, malformed_from
from pairmark.domain.errors import Malformed
from pairmark.domain.strict_json import parse
from pairmark.provenance.exact import read_exact
from pairmark.provenance.rows import RowProof, ShownRow, shown_row
from pairmark.provenance.statement import ArmRole, Statement


class RowsOfArm(Strict):
    arm: ArmRole
    rows: Annotated[tuple[RowProof, ...], Field(min_length=1, max_length=100_000)]


class ShownRows(Strict):
    """The whole proof. It names the certificate by serial and by the digest of its envelope's bytes."""

    schema_: Literal["pairmark/rows/v1"] = Field(alias="schema")
    certificate: Identifier
    envelope: Digest
    arms: Annotated[tuple[RowsOfArm, ...], Field(min_length=1, max_length=3)]


def rows_bytes(certificate: str, envelope: str, arms: Sequence[tuple[ArmRole, Sequence[ShownRow]]]) -> bytes:
    """The proof's RFC 8785 bytes."""
    shown = [{"arm": arm, "rows": [row.value() for row in rows]} for arm, rows in arms]
    return canonical_bytes({"schema": "pairmark/rows/v1", "certificate": certificate, "envelope": envelope, "arms": shown})


def shown_rows(data: bytes, statement: Statement, envelope: str, *, file: str | None = None) -> list[dict[str, Any]]:
    """The episodes that a proof shows, each with its `arm`, `row` and `episode`.

    Args:
        data: the proof.
        statement: the certificate's statement.
        envelope: digest of the certificate's envelope bytes.
        file: how errors name the proof.

    Raises:
        Malformed: not in RFC 8785 form, of another certificate, of an arm without a rows root, or a row that is not in its ledger.
    """
    read_exact(data, "a proof of rows", file=file)
    try:
        proof = ShownRows.model_validate_json(data)
    except ValidationError as problem:
        raise malformed_from(problem, data, file) from None
    if (proof.certificate, proof.envelope) != (statement.predicate.serial, envelope):
        raise Malformed(
            "other-certificate", f"expected rows of certificate {statement.predicate.serial}, found rows of another", file,
            remedy="give the proof with its own certificate",
        )
    return [episode for of_arm in proof.arms for episode in _of_arm(of_arm, statement, file)]


def _of_arm(of_arm: RowsOfArm, statement: Statement, file: str | None) -> list[dict[str, Any]]:
    arm = statement.predicate.arms.given().get(of_arm.arm)
    if arm is None or arm.rows is None:
        raise Malformed("no-rows", f"expected an arm whose rows can be shown, found {of_arm.arm}", file, remedy="show rows of another arm")
    shown = []
    for proof in of_arm.rows:
        row = shown_row(proof)
        if not row.holds(arm.ledger.count, arm.rows):
            raise Malformed(
                "wrong-row", f"expected row {row.row} to be in the {of_arm.arm} ledger, found that its proof does not lead to the rows root",
                file, remedy="do not trust it",
            )
        shown.append({"arm": of_arm.arm, "row": row.row, "episode": parse(row.line)})
    return shown
