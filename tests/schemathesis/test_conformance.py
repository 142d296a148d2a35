"""Whatever is sent, by whomever: no fault of the service, and every answer as the OpenAPI document declares it.

Schemathesis makes requests from the whole document, right ones and wrong ones; half of them are led to what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.python import asgi
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import schemathesis
from schemathesis import GenerationMode
from tests.schemathesis.conftest import Target

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance, response_schema_conformance
]
CALLERS = ("admin", "narrow", "nobody")


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.parquet", "application/partial-upload")
def _as_bytes(_context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def ask_anything(target: Target, callers: tuple[str, ...], examples: int) -> dict[str, set[tuple[str, int]]]:
    """Ask every call `examples` times rightly and as often wrongly; who was answered with which status by each."""
    schema = schemathesis.openapi.from_dict(target.service.app.openapi())  # from_asgi would start and stop the application's threads
    schema.app = target.service.app
    seen: dict[str, set[tuple[str, int]]] = {}
    problems: list[Exception] = []
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        name = f"{operation.method.upper()} {operation.path}"
        seen[name] = set()
        can_be_wrong = list(operation.body) or list(operation.query)  # any text is a path parameter
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE) if can_be_wrong else (GenerationMode.POSITIVE,):
            try:
                _asking(target, callers, operation, mode, examples, seen[name])()
            except Exception as problem:  # noqa: BLE001 - every call is to be asked
                problem.add_note(f"asked {name}, {mode}")
                problems.append(problem)
    if problems:
        raise ExceptionGroup("answers", problems)
    return seen


def _asking(
    target: Target, callers: tuple[str, ...], operation: Any, mode: GenerationMode, examples: int, answers: set[tuple[str, int]]
) -> Callable[[], None]:
    name = f"{operation.method.upper()} {operation.path}"
    app: Any = target.service.app
    client = asgi.get_client(app)

    @settings(
        max_examples=examples, phases=(Phase.generate,), derandomize=True, database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode), caller=st.sampled_from(callers), data=st.data())
    def ask(case: Any, caller: str, data: st.DataObject) -> None:
        _lead(target, name, case, data, mode)
        key = target.keys[caller]
        response = case.call(session=client, headers={} if key is None else {"Authorization": f"Bearer {key}"})
        answers.add((caller, response.status_code))
        case.validate_response(response, checks=CHECKS)

    return ask


def _lead(target: Target, name: str, case: Any, data: st.DataObject, mode: GenerationMode) -> None:
    """Let half of the requests name what there is, and carry a body that the call can take."""
    for parameter in list(case.path_parameters or ()):
        if parameter in target.ids and data.draw(st.booleans()):
            case.path_parameters[parameter] = data.draw(st.sampled_from(target.ids[parameter]))
    if mode is GenerationMode.POSITIVE and name in target.bodies and data.draw(st.booleans()):
        case.body = data.draw(st.sampled_from(target.bodies[name]))
        if case.headers:
            case.headers.pop("Content-Digest", None)


def test_whatever_is_sent_every_answer_is_as_declared(target: Target) -> None:
    seen = ask_anything(target, CALLERS, 2)
    assert len(seen) == sum(len(methods) for methods in target.service.get("/openapi.json").json()["paths"].values())
    answered = {each for answers in seen.values() for each in answers}
    assert {caller for caller, _ in answered} == set(CALLERS)
    assert {status for _, status in answered} >= {200, 401, 403, 404, 422}


@pytest.mark.slow
@pytest.mark.parametrize("caller", CALLERS)
def test_however_much_is_sent(target: Target, caller: str) -> None:
    seen = ask_anything(target, (caller,), 15)
    assert ((caller, 200) in seen["GET /v1/members"]) == (caller != "nobody")
