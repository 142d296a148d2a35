"""Commands that ask a service: where it is, and what its answers mean for the exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.exit_codes import REFUSED, UNAVAILABLE, USAGE
from pairmark.domain.errors import Conflict, PairmarkError

if TYPE_CHECKING:
    from pairmark.client import Client

ServiceUrl = Annotated[
    str, typer.Option("--service", metavar="URL", envvar="PAIRMARK_SERVICE", help="The service to ask.")
]
DEFAULT_SERVICE = "http://127.0.0.1:8000"


def client_of(url: str) -> Client:
    """A client of the service at `url`; use it as a context.

    Raises:
        Malformed: not an http or https URL.
    """
    from pairmark.client import Client
    from pairmark.domain.errors import Malformed, shown

    if not url.startswith(("http://", "https://")):
        raise Malformed(
            "bad-url", f"expected the URL of a service, found {shown(url)}", remedy="such as http://127.0.0.1:8000"
        )
    return Client(url, api_key=os.environ.get("PAIRMARK_API_KEY") or None)


def exit_code_of(problem: PairmarkError) -> int:
    """A conflict is a refusal; a service or database that does not answer is unavailable; all else is the input's fault."""
    status = getattr(problem, "status", None)  # what a service answered
    if isinstance(problem, Conflict) or status == 409:
        return REFUSED
    if isinstance(status, int):
        return UNAVAILABLE if status == 429 or status >= 500 else USAGE
    return UNAVAILABLE if type(problem).__name__ in ("NoAnswer", "Unavailable") else USAGE
