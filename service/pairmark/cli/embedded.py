"""A service to ask: one that runs somewhere, or the embedded database of a folder, served for as long as the command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.service import client_of

if TYPE_CHECKING:
    from pairmark.client import Client

DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Use the embedded database in DIR instead of a service, such as the one that demo leaves.",
    ),
]


@contextmanager
def client_at(service: str, data: Path | None) -> Iterator[Client]:
    """A client of the service at a URL, or of the embedded database in a folder."""
    if data is None:
        with client_of(service) as client:
            yield client
        return
    from pairmark.cli.demo_service import running_service

    with running_service(data) as url, client_of(url) as client:
        yield client
