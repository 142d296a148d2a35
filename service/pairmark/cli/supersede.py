"""`pairmark supersede`: another certificate stands in the place of one."""

from __future__ import annotations

from typing import Annotated

import typer

from pairmark.cli.console import say
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl
from pairmark.cli.status_options import CertificateId, NoteOption, ReasonOption


def supersede(
    certificate: CertificateId,
    by: Annotated[str, typer.Option("--by", metavar="CERTIFICATE", help="The certificate that stands in its place.")],
    reason: ReasonOption,
    note: NoteOption = None,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Put a valid certificate in the place of another. Signed and logged."""
    with client_at(service, data) as client:
        changed = client.log.supersede(certificate, by, reason.value, note).model
    say(f"superseded  {certificate}  by {by}  at log index {changed.index}  {changed.reason}")
    return OK
