"""Templates to answers: escaped, strict about what is undefined, under a policy that lets nothing in from outside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import pairmark
from pairmark.domain.canonical import digest_of_bytes
from pairmark.http.pages import audit_shown, shown
from pairmark.http.pages.plots.heat_map import SHAPES, SUCCESS
from pairmark.http.pages.plots.intervals import difference_scale, interval_bar

HOME: Final = Path(__file__).resolve().parent
SECURITY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
TYPES: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@cache
def assets() -> dict[str, tuple[bytes, str, str]]:
    """Every static file by name: its bytes, media type and short digest, read once."""
    found = {}
    for path in sorted((HOME / "static").iterdir()):
        if path.suffix in TYPES:
            content = path.read_bytes()
            found[path.name] = (content, TYPES[path.suffix], digest_of_bytes(content).removeprefix("sha256:")[:16])
    return found


def asset_url(name: str) -> str:
    """Where a static file is; another content has another address, so that it may be kept for ever."""
    return f"/static/{assets()[name][2]}/{name}"


@cache
def environment() -> Environment:
    """The templates, with what they may call."""
    found = Environment(
        loader=FileSystemLoader(HOME / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        auto_reload=False,
    )
    for function in (
        shown.percent, shown.points, shown.short_points, shown.decimal, shown.probability, shown.whole, shown.words, shown.name, shown.prose, shown.inline, shown.label, shown.digest,
        shown.identifier, shown.when, shown.day, shown.segment, shown.defenses, shown.models, shown.flag_means, audit_shown.happened,
        audit_shown.differences,
    ):
        found.filters[function.__name__] = function
    found.globals.update(query=shown.query, asset=asset_url, interval_bar=interval_bar, shapes=SHAPES, success=SUCCESS, difference_scale=difference_scale, version=pairmark.__version__)
    return found


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """A template's text."""
    return environment().get_template(template).render(values)


def page(request: Request, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any) -> Response:
    """A page as an answer. It may be another one tomorrow, so it is asked for again."""
    principal = getattr(request.state, "principal", None)
    signing_in = principal is not None and principal.via != "local"
    content = rendered(template, {"here": request.url.path, "signing_in": signing_in, **values})
    return Response(
        content, status, {**SECURITY, "Cache-Control": "no-cache", "Vary": "Accept", **(headers or {})}, "text/html; charset=utf-8"
    )
