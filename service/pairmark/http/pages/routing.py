"""Routes of pages: what goes wrong in them is a page too, in the words of the problem that the API answers with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from pairmark.app.errors import InFlight, TooManyRequests, Unavailable
from pairmark.domain.documents.problem import Problem
from pairmark.domain.errors import PairmarkError
from pairmark.http.access import COOKIE
from pairmark.http.pages.rendering import page
from pairmark.http.problems import bad_parameters, crash_problem, problem_of

log = logging.getLogger("pairmark.http")


class PageRoute(APIRoute):
    """A route whose errors are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except PairmarkError as error:
                headers = {"Retry-After": str(error.retry_after)} if isinstance(error, InFlight | Unavailable | TooManyRequests) else {}
                return problem_page(request, problem_of(error), headers)
            except RequestValidationError as error:
                return problem_page(request, bad_parameters(error))
            except HTTPException:
                raise
            except Exception:
                log.exception("%s %s crashed", request.method, request.url.path)
                return problem_page(request, crash_problem())

        return handle


def page_router() -> APIRouter:
    """A router for pages, which OpenAPI does not describe."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)


def problem_page(request: Request, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """A problem for people: what was expected, what was found, what to do."""
    answer = page(request, "problem.html", problem.status, {"Cache-Control": "no-store", **(headers or {})}, problem=problem)
    if problem.status == 401 and COOKIE in request.cookies:  # a key that no longer holds would keep its reader out of every page
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer
