"""People, where sign-in is on: who one is here, members and roles, keys, the audit log, what waits for a reviewer."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from pairmark.app.errors import NotPermitted
from pairmark.domain.errors import Malformed
from pairmark.http.access import COOKIE
from pairmark.http.pages.parameters import window
from pairmark.http.pages.rendering import SECURITY, page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import WithSources

router = page_router()

AUDITED = 50
MEMBERS = 50
KEYS = 100
LARGEST_FORM = 16_384
COOKIE_SECONDS = 12 * 3600


@router.get("/people")
def get_people(
    request: Request, sources: WithSources, cursor: str | None = None, members_from: Annotated[int, Query(ge=0)] = 0,
    keys_from: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """Everything about people that the caller may see; for nobody, the form to sign in."""
    caller = sources.caller()
    if caller["via"] == "anonymous":
        return page(request, "sign_in.html")
    reads = sources.may("read")
    return page(
        request, "people.html", caller=caller, members=window(sources.members() if reads else [], members_from, MEMBERS),
        keys=window(sources.keys() if reads else [], keys_from, KEYS),
        audit=sources.audit(cursor or None, AUDITED) if sources.may("administer") else None, at_start=not cursor,
        waiting=sources.certifications(None, waiting=True, cursor=None, limit=AUDITED), may_review=sources.may("review"),
    )  # fmt: skip


@router.post("/sign-in")
async def post_sign_in(request: Request) -> Response:
    """Keep the key in a cookie that scripts cannot read and that is taken for pages only. Whether it holds is asked when it is used."""
    _require_same_site(request)
    key = (await _form(request)).get("key", [""])[-1].strip()
    if not key or not key.isascii() or not key.isprintable() or len(key) > 4096 or any(mark in key for mark in ' ;,"\\'):
        raise Malformed("invalid-parameter", "expected an API key, found none", remedy="paste the key that was shown when it was made")
    answer = RedirectResponse("/people", 303, SECURITY)
    answer.set_cookie(COOKIE, key, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer


@router.post("/sign-out")
def post_sign_out(request: Request) -> Response:
    """Forget the key in this browser."""
    _require_same_site(request)
    answer = RedirectResponse("/", 303, SECURITY)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _require_same_site(request: Request) -> None:
    """Refuse a form that another site sent: it would sign its reader in as somebody else."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotPermitted("not-permitted", "expected a form of this service, found one of another site", "sign in on the page of this service")


async def _form(request: Request) -> dict[str, list[str]]:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_FORM:
            raise Malformed("too-large", f"expected a form of at most {LARGEST_FORM} bytes, found more", remedy="paste the key alone")
    return parse_qs(content.decode("utf-8", "replace"))
