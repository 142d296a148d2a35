"""`pairmark export`: a certificate in other people's forms."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.console import say
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl
from pairmark.cli.status_options import CertificateId

if TYPE_CHECKING:
    from pairmark.client import Client


class Form(StrEnum):
    """What to write of a certificate."""

    BUNDLE = "bundle"
    SVR = "svr"
    BADGE = "badge"
    CITATION = "citation"
    EVERY_EVAL_EVER = "every-eval-ever"


def export(
    certificate: CertificateId,
    form: Annotated[
        Form,
        typer.Option(
            "--as",
            help="bundle: certificate.json; svr: the in-toto SVR envelope; badge: its status as SVG; citation: a block to quote;"
            " every-eval-ever: a folder with an aggregate record and one line for each episode.",
        ),
    ] = Form.BUNDLE,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where it goes; by default standard output.")
    ] = None,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Write a certificate for other tools, and for readers."""
    from pairmark.cli.whole_files import write_whole
    from pairmark.domain.errors import Malformed

    with client_at(service, data) as client:
        if form is Form.EVERY_EVAL_EVER:
            from pairmark.cli.every_eval_ever import write_records

            if output is None:
                raise Malformed("usage", "expected --output with the name of a folder, found none", remedy="pairmark export --help")
            for path in write_records(client, certificate, output):
                say(str(path))
            return OK
        content = _content(client, certificate, form)
    if output is not None:
        write_whole(output, [content])
        say(f"{output}  {len(content)} bytes")
        return OK
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    return OK


def _content(client: Client, certificate: str, form: Form) -> bytes:
    if form is Form.BADGE:
        return client.log.badge(certificate)
    bundle = client.log.bundle(certificate)
    if form is Form.BUNDLE:
        return bundle
    from pairmark.app.citation import citation
    from pairmark.provenance.bundle import parse_bundle
    from pairmark.provenance.trust import parse_trust

    read = parse_bundle(bundle)
    if form is Form.SVR:
        return read.svr.content()
    return citation(read, parse_trust(client.log.trust()).root_digest).encode()
