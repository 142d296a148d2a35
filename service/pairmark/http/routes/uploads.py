"""Uploads in pieces: a ledger that may break off anywhere and go on from there."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from pairmark.adapters.ledgers.ingest import LedgerFormat
from pairmark.adapters.partial_uploads import PartialUploads, Upload, UploadAbout
from pairmark.adapters.telemetry.spans import span
from pairmark.app.moments import moment
from pairmark.app.ownership import require_own_runs
from pairmark.app.ports import KeptAnswer, Tables
from pairmark.app.read_run import read_run
from pairmark.app.seal_run import OpenRun, ReadLedger, check_ledger, open_run, seal_run
from pairmark.domain.errors import Malformed, NotFound, shown
from pairmark.http.answers import changing_json, kept_json
from pairmark.http.bodies import ENCODINGS, LEDGER_TYPES, WithJson, media_type_of, parts_of
from pairmark.http.documented import answers, json_of
from pairmark.http.models import RunAnswer
from pairmark.http.once import WithOnce
from pairmark.http.routes.runs import read_answer
from pairmark.http.services import Services, WithServices
from pairmark.http.settings import MIB
from pairmark.http.upload_models import OFFSET, PIECE_TYPE, UploadAnswer, UploadRequest, UploadSeal

router = APIRouter(prefix="/v1/runs/{run_id}/uploads", tags=["episodes"])

PIECE: dict[str, Any] = {"requestBody": {"required": True, "content": {PIECE_TYPE: {"schema": {"type": "string", "format": "binary"}}}}}
Offset = Annotated[int, Header(alias=OFFSET, ge=0, le=2**53 - 1, description="where the upload ends, and this piece starts")]


@router.post(
    "", status_code=201, openapi_extra=json_of(UploadRequest), responses=answers(400, 404, 409, 413, 415, 507, s201=UploadAnswer, s200=UploadAnswer)
)
def post_upload(run_id: str, body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Begin an upload in pieces; 200 with the place to go on from if this very upload is unfinished."""
    asked, _ = body.read(UploadRequest)
    expected = _expected(services, run_id)
    limit = services.settings.max_upload_bytes
    if asked.size > limit:
        raise Malformed(
            "too-large", f"expected a ledger of at most {limit} bytes (PAIRMARK_MAX_UPLOAD_BYTES), found {asked.size}",
            remedy="send less, or ask the operator for more",
        )  # fmt: skip

    def begin() -> KeptAnswer:
        about = UploadAbout(expected.run.id, services.principal.owner, asked.type, asked.encoding, asked.size, asked.digest)
        upload, new = uploads_of(services).open(about, services.clock().timestamp())
        return kept_json(201 if new else 200, _answer(services, upload), {"Location": f"/v1/runs/{run_id}/uploads/{about.id}"})

    return once.answer_prepared(begin, lambda _, prepared: prepared)


@router.get("/{upload_id}", responses=answers(404, s200=UploadAnswer))
def get_upload(run_id: str, upload_id: str, services: WithServices) -> Response:
    """Where an unfinished upload ends, and so where to go on."""
    return _shown(services, _found(services, run_id, upload_id))


@router.patch("/{upload_id}", openapi_extra=PIECE, responses=answers(400, 404, 408, 409, 413, 415, 507, s200=UploadAnswer))
async def patch_upload(run_id: str, upload_id: str, request: Request, services: WithServices, upload_offset: Offset) -> Response:
    """Send the next piece. What came of one that breaks off stays, unless it was not what its Content-Digest says."""
    kind = media_type_of(request)
    if kind != PIECE_TYPE:
        raise Malformed("unsupported-media-type", f"expected Content-Type {PIECE_TYPE}, found {shown(kind)}", remedy="send a piece so")
    upload = await run_in_threadpool(_found, services, run_id, upload_id)
    uploads, end = uploads_of(services), upload_offset
    waiting: list[bytes] = []
    waits = 0

    async def write() -> None:
        nonlocal end, waits
        end = await run_in_threadpool(uploads.append, upload, end, b"".join(waiting))
        waiting.clear()
        waits = 0

    await write()  # a wrong offset is told before a body is taken
    left = max(upload.about.size - upload_offset, 0)
    try:
        async for part in parts_of(request, left, "what is left of the declared size", services.settings.body_seconds):
            waiting.append(part)
            waits += len(part)
            if waits >= MIB:
                await write()
        await write()
    except ClientDisconnect:
        await write()
        raise
    except Malformed as problem:
        if problem.code == "body-too-slow":
            await write()
        else:
            await run_in_threadpool(uploads.take_back, upload, upload_offset, end)
        raise
    return _shown(services, await run_in_threadpool(uploads.found, run_id, upload_id))


@router.delete("/{upload_id}", responses=answers(404, s200=UploadAnswer))
def delete_upload(run_id: str, upload_id: str, services: WithServices) -> Response:
    """Give an unfinished upload up."""
    upload = _found(services, run_id, upload_id)
    uploads_of(services).forget(upload)
    return _shown(services, upload)


@router.post(
    "/{upload_id}/seal", status_code=201, openapi_extra=json_of(UploadSeal, required=False),
    responses=answers(400, 404, 409, 413, 415, 507, s201=RunAnswer, s200=RunAnswer),
)  # fmt: skip
def post_seal(run_id: str, upload_id: str, body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Seal the run with what was uploaded, as `PUT /v1/runs/{run_id}/episodes` does with its body."""
    body.read(UploadSeal)

    expected = _expected(services, run_id)
    try:  # outside of the key's lease, which a large ledger outlasts: doing it twice changes nothing
        upload = _found(services, run_id, upload_id)
        ledger = _taken_in(services, expected, upload)
    except NotFound as problem:
        gone = problem

        def replayed(_: Tables) -> KeptAnswer:
            raise gone

        return once.answer(replayed)

    def seal(tables: Tables) -> KeptAnswer:
        done = seal_run(tables, expected, ledger, services.clock())
        return kept_json(201 if done.new else 200, read_answer(read_run(tables, done.run.id)))

    answer = once.answer(seal)
    uploads_of(services).forget(upload)
    return answer


def uploads_of(services: Services) -> PartialUploads:
    """The folder of unfinished uploads, which every process that serves this data shares."""
    settings = services.settings
    return PartialUploads(settings.data_dir / "uploads", seconds=settings.partial_upload_seconds, most=settings.partial_uploads)


def _taken_in(services: Services, expected: OpenRun, upload: Upload) -> ReadLedger:
    """The ledger as a stored object. One that cannot become right is given up."""
    uploads, about = uploads_of(services), upload.about
    form = LedgerFormat(LEDGER_TYPES[about.type], next(each for each in ENCODINGS if each == about.encoding))
    try:
        with uploads.whole(upload) as file, services.turns, span("upload"), services.ledgers.incoming(file, form) as incoming:
            check_ledger(expected, incoming.ledger)
            incoming.keep()  # the object first, then the row that makes it readable
            return incoming.ledger
    except Malformed:
        with suppress(OSError):
            uploads.forget(upload)
        raise


def _expected(services: Services, run_id: str) -> OpenRun:
    with services.database.reading() as tables:
        require_own_runs(tables, (run_id,))
        return open_run(tables, run_id)


def _found(services: Services, run_id: str, upload_id: str) -> Upload:
    with services.database.reading() as tables:
        require_own_runs(tables, (run_id,))
    return uploads_of(services).found(run_id, upload_id)


def _answer(services: Services, upload: Upload) -> dict[str, Any]:
    about = upload.about
    until = datetime.fromtimestamp(uploads_of(services).expires(upload), UTC)
    return {"id": about.id, "run": about.run, "offset": upload.offset, "size": about.size, "digest": about.digest, "expires_at": moment(until)}


def _shown(services: Services, upload: Upload) -> Response:
    return changing_json(_answer(services, upload), 200, {OFFSET: str(upload.offset)})
