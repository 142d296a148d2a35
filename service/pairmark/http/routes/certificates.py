"""Certificates: the released pairs, their bundles, and what became of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from pairmark.adapters.telemetry.spans import span
from pairmark.app.badge import badge_svg
from pairmark.app.log_read import newest_checkpoint, receipt_of
from pairmark.app.moments import moment
from pairmark.app.ownership import publish, require_own_certificate
from pairmark.app.people_records import Publication
from pairmark.app.ports import KeptAnswer, Tables
from pairmark.app.read_bundle import read_bundle, release_of
from pairmark.app.read_certificate import flips_digest, read_certificate
from pairmark.app.revoke import revoke
from pairmark.app.status import standing_at
from pairmark.app.status_change import StatusLogged
from pairmark.app.supersede import supersede
from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.strict_json import parse
from pairmark.http.answers import CHANGING, changing_json, immutable, immutable_headers, kept_json, not_modified
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.files import StoredFile
from pairmark.http.log_models import (
    PublishedAnswer,
    PublishRequest,
    RevokeRequest,
    StandingAnswer,
    StatusChangeAnswer,
    SupersedeRequest,
)
from pairmark.http.models import CertificateAnswer
from pairmark.http.once import WithOnce
from pairmark.http.services import Services, WithServices

router = APIRouter(prefix="/v1/certificates", tags=["certificates"])

BUNDLE: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {}}}}
SVG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/svg+xml": {}}}}


@router.get("/{certificate_id}", responses=answers(304, 404, s200=CertificateAnswer))
def get_certificate(certificate_id: str, request: Request, services: WithServices) -> Response:
    """Read a certificate's document and the report it releases; its bundle is what is signed."""
    with services.database.reading() as tables:
        found = read_certificate(tables, certificate_id)
    digest = found.certificate.document
    answer = {"digest": digest, "certificate": parse(found.content), "report": parse(found.report)}
    return immutable(request, digest, canonical_bytes(answer))


@router.get("/{certificate_id}/bundle", responses={**answers(304, 404, 409), **BUNDLE})
def get_bundle(certificate_id: str, request: Request, services: WithServices) -> Response:
    """`certificate.json`, verifiable offline: signed statement, log entry, receipt, and every status change known."""
    _publish(services, certificate_id)
    with services.database.reading() as tables:
        content = read_bundle(tables, certificate_id)
    headers = {"Cache-Control": CHANGING, "ETag": f'"{digest_of_bytes(content)}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, 200, headers, "application/json")


@router.get("/{certificate_id}/flips", responses={**answers(304, 404), **BUNDLE})
def get_flips(certificate_id: str, request: Request, services: WithServices) -> Response:
    """Every pair of outcomes, lost, gained, kept or neither: the list whose first hundred the report shows."""
    with services.database.reading() as tables:
        digest = flips_digest(tables, certificate_id)
    return not_modified(request, digest) or StoredFile(services.ledgers.fetched(digest), immutable_headers(digest), "application/json")


class StatusParams(BaseModel):
    """A moment of the log."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: Annotated[int | None, Field(ge=0, le=2**53 - 1, description="tree size; by default the newest published")] = None


@router.get("/{certificate_id}/status", responses=answers(404, 409, s200=StandingAnswer))
def get_status(certificate_id: str, params: Annotated[StatusParams, Query()], services: WithServices) -> Response:
    """What became of a certificate, folded from the log up to a tree size."""
    _publish(services, certificate_id)
    with services.database.reading() as tables:
        found, signed = standing_at(tables, certificate_id, params.size), newest_checkpoint(tables)
    standing = found.standing
    return changing_json(
        {
            "certificate": found.certificate, "status": standing.status, "index": standing.index, "reason": standing.reason,
            "by": standing.by, "size": found.size, "checkpoint": signed.note.decode(),
        }
    )  # fmt: skip


@router.get("/{certificate_id}/badge", responses={**answers(404, 409), **SVG})
def get_badge(certificate_id: str, services: WithServices) -> Response:
    """The certificate's status as a small picture (SVG), never older than the log."""
    _publish(services, certificate_id)
    with services.database.reading() as tables:
        found = standing_at(tables, certificate_id, None)
    return Response(badge_svg(found.standing.status), 200, {"Cache-Control": CHANGING}, "image/svg+xml")


@router.post(
    "/{certificate_id}/publish", openapi_extra=json_of(PublishRequest, required=False),
    responses=answers(400, 404, 409, 413, 415, s200=PublishedAnswer),
)
def post_publish(certificate_id: str, body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Let everybody read the certificate and its runs, and hand out the receipt: a checkpoint that covers it is signed, unless there is one."""
    asked, _ = body.read(PublishRequest)

    def cover() -> None:
        with services.database.reading() as tables:
            require_own_certificate(tables, certificate_id)
        _publish(services, certificate_id)

    def answer(tables: Tables, _: None) -> KeptAnswer:
        publish(tables, Publication(certificate_id, asked.episodes, moment(services.clock())))
        index = release_of(tables, certificate_id).index
        size, receipt = newest_checkpoint(tables).size, receipt_of(tables, index).decode()
        return kept_json(200, {"certificate": certificate_id, "index": index, "size": size, "receipt": receipt})

    return once.answer_prepared(cover, answer)


@router.post(
    "/{certificate_id}/revoke", status_code=201, openapi_extra=json_of(RevokeRequest),
    responses=answers(400, 404, 409, 413, 415, s201=StatusChangeAnswer),
)  # fmt: skip
def post_revoke(certificate_id: str, body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Revoke a certificate, signed and logged, with a reason of the closed list. Final."""
    asked, _ = body.read(RevokeRequest)

    def change(tables: Tables) -> KeptAnswer:
        services.require_may_end(tables, certificate_id)
        return changed(revoke(tables, services.signing, certificate_id, asked.reason, asked.note, services.clock()))

    return once.answer(change)


@router.post(
    "/{certificate_id}/supersede", status_code=201, openapi_extra=json_of(SupersedeRequest),
    responses=answers(400, 404, 409, 413, 415, s201=StatusChangeAnswer),
)  # fmt: skip
def post_supersede(certificate_id: str, body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Put another certificate in the place of this one, signed and logged, with a reason of the closed list."""
    asked, _ = body.read(SupersedeRequest)

    def change(tables: Tables) -> KeptAnswer:
        services.require_may_end(tables, certificate_id)
        services.require_may_end(tables, asked.by)
        return changed(supersede(tables, services.signing, certificate_id, asked.by, asked.reason, asked.note, services.clock()))

    return once.answer(change)


def changed(logged: StatusLogged) -> KeptAnswer:
    """A status change as an answer."""
    return kept_json(201, change_value(logged))


def change_value(logged: StatusLogged) -> dict[str, Any]:
    """A status change as a JSON value."""
    return {
        "index": logged.index, "certificates": list(logged.certificates), "status": logged.status, "reason": logged.reason,
        "by": logged.by, "at": logged.at,
    }  # fmt: skip


def _publish(services: Services, certificate_id: str) -> None:
    """See to it that every entry about the certificate is covered by a checkpoint before anything of it is handed out."""
    with services.database.reading() as tables:
        release_of(tables, certificate_id)
        size = tables.log.about(certificate_id)[-1].index + 1
    with span("publish"):
        services.publisher.cover(size)
