"""What clients of model providers raise when the provider is down: their own classes, made as they make them. Nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_URL = "http://provider.invalid/v1/chat"


@dataclass(frozen=True)
class Failure:
    """One way to die. `make` gives a new exception."""

    name: str
    make: Callable[[], Exception]


def failures() -> tuple[Failure, ...]:
    """Connection errors, time-outs, 402, 429 and 5xx of the client libraries that agentdojo depends on."""
    return (*_openai(), *_anthropic(), *_cohere(), *_google(), *_httpx())


def _request() -> Any:
    import httpx

    return httpx.Request("POST", _URL)


def _response(code: int) -> Any:
    import httpx

    return httpx.Response(code, request=_request())


def _openai() -> tuple[Failure, ...]:
    import openai

    def status(kind: Any, code: int) -> Callable[[], Exception]:
        return lambda: kind(f"Error code: {code}", response=_response(code), body=None)

    return (
        Failure("openai APIConnectionError", lambda: openai.APIConnectionError(request=_request())),
        Failure("openai APITimeoutError", lambda: openai.APITimeoutError(request=_request())),
        Failure("openai APIStatusError 402", status(openai.APIStatusError, 402)),
        Failure("openai RateLimitError 429", status(openai.RateLimitError, 429)),
        Failure("openai InternalServerError 500", status(openai.InternalServerError, 500)),
        Failure("openai InternalServerError 503", status(openai.InternalServerError, 503)),
    )


def _anthropic() -> tuple[Failure, ...]:
    import anthropic

    def status(kind: Any, code: int) -> Callable[[], Exception]:
        return lambda: kind(f"Error code: {code}", response=_response(code), body=None)

    return (
        Failure("anthropic APIConnectionError", lambda: anthropic.APIConnectionError(request=_request())),
        Failure("anthropic RateLimitError 429", status(anthropic.RateLimitError, 429)),
        Failure("anthropic InternalServerError 529", status(anthropic.InternalServerError, 529)),
    )


def _cohere() -> tuple[Failure, ...]:
    from cohere.core.api_error import ApiError

    return (
        Failure("cohere ApiError 429", lambda: ApiError(status_code=429, body={"message": "too many requests"})),
        Failure("cohere ApiError 500", lambda: ApiError(status_code=500, body={"message": "internal server error"})),
        Failure("cohere ApiError 503", lambda: ApiError(status_code=503, body={"message": "service unavailable"})),
    )


def _google() -> tuple[Failure, ...]:
    from google.genai.errors import ClientError, ServerError

    def body(code: int, status: str) -> dict[str, Any]:
        return {"error": {"code": code, "message": "The model is overloaded.", "status": status}}

    return (
        Failure("google ClientError 429", lambda: ClientError(429, body(429, "RESOURCE_EXHAUSTED"))),
        Failure("google ServerError 500", lambda: ServerError(500, body(500, "INTERNAL"))),
        Failure("google ServerError 503", lambda: ServerError(503, body(503, "UNAVAILABLE"))),
    )


def _httpx() -> tuple[Failure, ...]:
    import httpx

    return (
        Failure("httpx ConnectError", lambda: httpx.ConnectError("Connection refused", request=_request())),
        Failure(
            "httpx RemoteProtocolError",
            lambda: httpx.RemoteProtocolError("Server disconnected without sending a response.", request=_request()),
        ),
    )
