"""`pairmark prove`: show single episodes of a private ledger, and that they are in the certified one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.console import say
from pairmark.cli.exit_codes import OK
from pairmark.cli.verify import read_as

if TYPE_CHECKING:
    import polars as pl


def prove(
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="A certificate bundle (certificate.json).")],
    bundle: Annotated[Path, typer.Option("--run", metavar="BUNDLE", help="The run whose episodes are to be shown.")],
    secret: Annotated[
        Path, typer.Option("--secret", metavar="FILE|DIR", help="The ledger's secret, or the service's folder of them (row-secrets).")
    ],
    cell: Annotated[
        list[str],
        typer.Option("--cell", metavar="TASK[,INJECTION[,EPOCH]]", help="Which episodes; may be given again. A benign cell has an empty INJECTION."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where the proof is written.")],
    arm: Annotated[str, typer.Option("--arm", help="benign, attacked or baseline.")] = "attacked",
) -> int:
    """Show single episodes of a private ledger, no others.

    Writes a proof that `pairmark verify --rows` checks.
    """
    from pairmark.adapters.ledgers.bundle import read_bundle
    from pairmark.adapters.ledgers.canonical_out import canonical_lines
    from pairmark.domain.errors import Malformed
    from pairmark.provenance.bundle import parse_bundle
    from pairmark.provenance.rows import SECRET_SIZE, prove_rows, row_leaves, rows_root
    from pairmark.provenance.shown_rows import rows_bytes
    from pairmark.provenance.statement import ARM_ROLES, read_statement

    role = next((name for name in ARM_ROLES if name == arm), None)
    if role is None:
        raise Malformed("invalid-arm", f"expected benign, attacked or baseline, found {arm!r}", remedy="give --arm")
    logged = parse_bundle(read_as("certificate bundle", certificate), file=str(certificate)).certificate
    statement = read_statement(logged.envelope.payload, file=str(certificate))
    claimed = statement.predicate.arms.given().get(role)
    if claimed is None or claimed.rows is None:
        raise Malformed("no-rows", f"expected an arm whose rows can be shown, found {role}", str(certificate), remedy="show rows of another arm")
    if secret.is_dir():
        secret /= claimed.ledger.digest.removeprefix("sha256:")
    key = _read(secret)
    if len(key) != SECRET_SIZE:
        raise Malformed("invalid-secret", f"expected {SECRET_SIZE} bytes, found {len(key)}", str(secret), remedy="give the ledger's secret")
    frame = read_bundle(bundle, role).ledger
    lines = canonical_lines(frame).splitlines(keepends=True)
    if rows_root(row_leaves(key, lines)) != claimed.rows:
        raise Malformed(
            "wrong-ledger", f"expected the {role} ledger and its secret as certified, found others", str(bundle), remedy="check --run, --arm and --secret"
        )
    wanted = sorted({row for text in cell for row in _rows_of(frame, text)})
    output.write_bytes(rows_bytes(statement.predicate.serial, logged.envelope_digest, [(role, prove_rows(key, lines, wanted))]))
    say(f"{len(wanted)} of {len(lines)} {role} episodes can be shown with {output}")
    return OK


def _rows_of(frame: pl.DataFrame, text: str) -> list[int]:
    """Row numbers of the episodes that a cell names, all attempts."""
    import polars as pl

    from pairmark.domain.errors import Malformed

    parts = text.split(",")
    where = [pl.col("task_id") == parts[0]]
    if len(parts) > 1:
        where.append(pl.col("injection_id").is_null() if not parts[1] else pl.col("injection_id") == parts[1])
    if len(parts) > 2 and parts[2].isdecimal():
        where.append(pl.col("epoch") == int(parts[2]))
    found = frame.with_row_index("row").filter(where)["row"].to_list() if len(parts) <= 3 else []
    if not found or (len(parts) > 2 and not parts[2].isdecimal()):
        raise Malformed(
            "no-cell", f"expected TASK[,INJECTION[,EPOCH]] of an episode in the ledger, found {text!r}", remedy="see the ids in the suite manifest"
        )
    return [int(row) for row in found]


def _read(path: Path) -> bytes:
    from pairmark.adapters.ledgers.documents import read_bytes

    return read_bytes(path, "document", 64_000_000)
