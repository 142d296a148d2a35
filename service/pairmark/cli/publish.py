"""`pairmark publish`: let everybody read a certificate."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pairmark.cli.console import say
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl
from pairmark.cli.status_options import CertificateId


class Episodes(StrEnum):
    """Who may read the episodes of the certificate's runs."""

    PUBLIC = "public"
    PRIVATE = "private"


def publish(
    certificate: CertificateId,
    episodes: Annotated[
        Episodes, typer.Option("--episodes", help="Whether everybody may read the episodes too, or only documents, numbers and what is proven of them.")
    ] = Episodes.PUBLIC,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Let everybody read a certificate and its runs."""
    with client_at(service, data) as client:
        published = client.log.publish(certificate, episodes=episodes.value).model
    say(f"published  {published.certificate}  at log index {published.index}  episodes {episodes.value}")
    return OK
