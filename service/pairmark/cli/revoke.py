"""`pairmark revoke`: one certificate, or everything that rests on a defect."""

from __future__ import annotations

from typing import Annotated

import typer

from pairmark.cli.console import say, say_all
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl
from pairmark.cli.status_options import NoteOption, Reason, ReasonOption


def revoke(
    reason: ReasonOption,
    certificate: Annotated[str | None, typer.Argument(metavar="CERTIFICATE", help="Id of the certificate.")] = None,
    defect: Annotated[
        str | None,
        typer.Option(
            "--all-of", metavar="DIGEST",
            help="Everything over this suite content (--reason suite-defect) or with this checker (--reason checker-defect).",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --all-of: list what would be revoked, and change nothing.")] = False,
    note: NoteOption = None,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:  # fmt: skip
    """Revoke a certificate, signed and logged. Final: its numbers are no longer vouched for."""
    from pairmark.domain.errors import Malformed

    if (certificate is None) == (defect is None) or (dry_run and defect is None):
        raise Malformed("usage", "expected either CERTIFICATE or --all-of, and --dry-run only with the latter", remedy="pairmark revoke --help")
    with client_at(service, data) as client:
        if certificate is not None:
            changed = client.log.revoke(certificate, reason.value, note).model
            say(f"revoked  {certificate}  at log index {changed.index}  {changed.reason}")
            return OK
        if reason not in (Reason.SUITE_DEFECT, Reason.CHECKER_DEFECT) or defect is None:
            raise Malformed("usage", "expected --all-of with --reason suite-defect or checker-defect", remedy="pairmark revoke --help")
        found = client.log.cascade(reason.value, defect, dry_run=dry_run, note=note).model
    say_all(f"{'would be revoked' if dry_run else 'revoked'}  {one}" for one in found.certificates)
    say_all(f"history that changes  {label}" for label in found.labels)
    say_all(f"answer that changes  {path}" for path in found.answers if path.startswith("/v1/comparisons"))
    if found.comparisons:
        say(f"{found.comparisons} comparisons will be refused")
    say_all(f"not signed, cannot be named  {one}" for one in found.unsigned)
    say(f"{len(found.certificates)} certificates, " + ("nothing changed" if found.change is None else f"one entry at log index {found.change.index}"))
    return OK
