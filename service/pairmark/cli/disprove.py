"""`pairmark disprove`: a reviewer's evidence that a held result is real."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairmark.cli.console import say, say_all
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OF_VERDICT
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl


def disprove(
    certification: Annotated[str, typer.Argument(metavar="CERTIFICATION", help="Id of the quarantined certification.")],
    text: Annotated[str, typer.Option("--text", help="Why the innocent explanations are excluded.")],
    evidence: Annotated[
        list[Path] | None, typer.Option("--evidence", metavar="FILE", help="A file that shows it; its digest is recorded. May be given again.")
    ] = None,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Record evidence against a held sign-plausible.

    It is logged, and shown by the certificate that rests on it.

    Exit: 0 certified, 1 refused, 2 malformed input or usage, 3 still quarantined.
    """
    from pairmark.cli.text_report import report_lines
    from pairmark.domain.canonical import digest_of_bytes

    digests = tuple(digest_of_bytes(path.read_bytes()) for path in evidence or ())
    with client_at(service, data) as client:
        reply = client.disprove(certification, text, digests)
    report = reply.value["report"]
    say(f"certification  {reply.model.id}")
    say(f"certificate    {reply.model.certificate or 'none: only a certified pair gets one'}")
    say_all(report_lines(report))
    return OF_VERDICT[report["verdict"]]
