"""Suites: register, list, read, compare."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from pairmark.app.diff_suites import diff_registered
from pairmark.app.ports import KeptAnswer, SuiteLabel, Tables
from pairmark.app.read_suite import list_suites, read_suite
from pairmark.app.register_suite import register_suite
from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.documents.suite_diff import SuiteDiff
from pairmark.http.answers import changing_json, immutable, kept_json
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.models import RegisteredSuite, SuitePage
from pairmark.http.once import WithOnce
from pairmark.http.paging import PageParams
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/suites", tags=["suites"])


def suite_item(label: SuiteLabel) -> dict[str, Any]:
    """A label as answers show it."""
    return {
        "name": label.name, "version": label.version, "digest": label.digest, "manifest": label.manifest, "created_at": label.created_at
    }


@router.post(
    "", status_code=201, openapi_extra=json_of(SuiteManifest),
    responses=answers(400, 409, 413, 415, s201=RegisteredSuite, s200=RegisteredSuite),
)
def post_suite(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Register a manifest: 201 new, 200 if the label has this content already, 409 if it has another."""
    manifest, value = body.read(SuiteManifest)

    def register(tables: Tables) -> KeptAnswer:
        done = register_suite(tables, manifest, value, services.clock())
        answer = {**suite_item(done.label), "kept": list(done.kept)}
        return kept_json(201 if done.new else 200, answer, {"Location": f"/v1/suites/{done.label.digest}"})

    return once.answer(register)


class SuiteParams(PageParams):
    name: Annotated[str | None, Field(description="only labels of this suite name")] = None


@router.get("", responses=answers(s200=SuitePage))
def get_suites(params: Annotated[SuiteParams, Query()], services: WithServices) -> Response:
    """List labels in the order of registration."""
    with services.database.reading() as tables:
        page = list_suites(tables, params.name, params.cursor, params.size(services.settings))
    return changing_json({"items": [suite_item(label) for label in page.items], "next": page.next})


@router.get("/{digest}", responses=answers(304, 404, s200=SuiteManifest))
def get_suite(digest: str, request: Request, services: WithServices) -> Response:
    """Read the manifest first registered with this content, or the one whose own digest this is."""
    with services.database.reading() as tables:
        found = read_suite(tables, digest)
    return immutable(request, digest, found.content)


@router.get("/{digest}/diff/{other}", responses=answers(304, 404, s200=SuiteDiff))
def get_suite_diff(
    digest: str,
    other: str,
    request: Request,
    services: WithServices,
    certificates: Annotated[bool, Query(description="also the standing certificates over either side")] = False,
) -> Response:
    """What changed from one suite version to another, by task, injection and cell, and what stays comparable."""
    with services.database.reading() as tables:
        diff = diff_registered(tables, digest, other, certificates=certificates)
    value = diff.model_dump(mode="json", by_alias=True)
    if certificates:
        return changing_json(value)
    content = canonical_bytes(value)
    return immutable(request, digest_of_bytes(content), content)
