"""`pairmark certify`: ask a service for the verdict on a pair of sealed runs."""

from __future__ import annotations

from typing import Annotated

import typer

from pairmark.cli.check import Format
from pairmark.cli.console import say, say_all, say_bytes
from pairmark.cli.exit_codes import OF_VERDICT
from pairmark.cli.pair import DEFAULT_POLICY
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl, client_of


def certify(
    benign: Annotated[str, typer.Option("--benign", metavar="ID", help="Sealed run without attacks.")],
    attacked: Annotated[str, typer.Option("--attacked", metavar="ID", help="Sealed run under attack.")],
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="ID", help="Sealed undefended run under the same attack.")
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME/VERSION", help="A policy that comes with Pairmark.")
    ] = DEFAULT_POLICY,
    format_: Annotated[
        Format,
        typer.Option("--format", help="text: a checklist; json: the service's answer; github: workflow annotations."),
    ] = Format.TEXT,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """Certify a pair of runs on a service. The report is the one `check` gives, and a certified pair gets a certificate.

    A very large pair waits for its turn; Ctrl-C cancels it, if it was this command that asked for it first.

    Exit: 0 certified, 1 refused, 2 malformed input or usage, 3 quarantined.
    """
    from pairmark.cli.certify_waiting import Waited, cancel
    from pairmark.domain.canonical import canonical_bytes

    with client_of(service) as client:
        waited: Waited | None = None
        try:
            with Waited.shown() as waited:
                reply = client.certify(benign, attacked, baseline, policy, waiting=waited.told)
        except KeyboardInterrupt:
            if waited is not None:
                cancel(client, waited)
            raise
        signs_in = format_ is Format.TEXT and client.people.me().via in ("key", "token")
    report = reply.value["report"]
    if format_ is Format.JSON:
        say_bytes(canonical_bytes(reply.value))
    elif format_ is Format.GITHUB:
        from pairmark.cli.github_report import annotation_lines

        say_all(annotation_lines(report))
    else:
        from pairmark.cli.text_report import report_lines

        say(f"certification  {reply.model.id}")
        say(f"certificate    {reply.model.certificate or 'none: only a certified pair gets one'}")
        say_all(report_lines(report))
        if reply.model.certificate is not None and signs_in:
            say(f"others cannot see it until: pairmark publish {reply.model.certificate}")
    return OF_VERDICT[report["verdict"]]
