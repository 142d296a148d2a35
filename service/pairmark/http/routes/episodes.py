"""Episodes: upload a ledger, read it whole or by page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from pairmark.adapters.ledger_store import EpisodeFilter
from pairmark.adapters.telemetry.spans import span
from pairmark.app.open_episodes import require_open_episodes
from pairmark.app.ownership import require_own_runs
from pairmark.app.paging import cursor_at, place_of, query_mark
from pairmark.app.ports import Seal
from pairmark.app.read_run import read_run, sealed_ledger
from pairmark.app.seal_run import OpenRun, check_ledger, open_run, seal_run
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.episode import Status
from pairmark.domain.errors import Malformed, shown
from pairmark.http.answers import changing_json, immutable_headers, not_modified
from pairmark.http.bodies import LEDGER_TYPES, SpooledLedger, spool_ledger
from pairmark.http.documented import answers
from pairmark.http.files import StoredFile
from pairmark.http.models import EpisodePage, RunAnswer
from pairmark.http.paging import PageParams
from pairmark.http.routes.runs import read_answer
from pairmark.http.services import Services, WithServices

router = APIRouter(prefix="/v1/runs/{run_id}/episodes", tags=["episodes"])

Format = Literal["json", "ndjson", "parquet"]
MEDIA_TYPES: dict[Format, str] = {
    "json": "application/json", "ndjson": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"
}
_binary = {"schema": {"type": "string", "format": "binary"}}
FORMS: dict[str, Any] = {MEDIA_TYPES["ndjson"]: {"schema": {"type": "string"}}, MEDIA_TYPES["parquet"]: _binary}
UPLOAD = {"requestBody": {"required": True, "content": dict.fromkeys(LEDGER_TYPES, _binary)}}


@router.put(
    "", status_code=201, openapi_extra=UPLOAD, responses=answers(400, 404, 408, 409, 413, 415, 507, s201=RunAnswer, s200=RunAnswer)
)
async def put_episodes(run_id: str, request: Request, services: WithServices) -> Response:
    """Upload the ledger in canonical order; the declared count and digest must hold. Seals the run; 200 if it was sealed so."""
    expected = await run_in_threadpool(_expected, services, run_id)
    settings = services.settings
    spooled = await spool_ledger(request, services.ledgers.room, settings.max_upload_bytes, settings.body_seconds)
    return await run_in_threadpool(_seal, services, expected, spooled)


def _expected(services: Services, run_id: str) -> OpenRun:
    with services.database.reading() as tables:
        require_own_runs(tables, (run_id,))
        return open_run(tables, run_id)


def _seal(services: Services, expected: OpenRun, spooled: SpooledLedger) -> Response:
    with closing(spooled.file), services.turns, span("upload"), services.ledgers.incoming(spooled.file, spooled.form) as incoming:
        check_ledger(expected, incoming.ledger)
        incoming.keep()  # the object first, then the row that makes it readable
    ledger = incoming.ledger
    sealed = services.database.write(lambda tables: seal_run(tables, expected, ledger, services.clock()))
    with services.database.reading() as tables:
        answer = read_answer(read_run(tables, sealed.run.id))
    return changing_json(answer, 201 if sealed.new else 200)


Known = Literal["true", "false", "null"]


class EpisodeParams(PageParams):
    """Filters hold together. Those on `utility`, `attack_success` and `delivered` tell false from unknown."""

    format: Annotated[Format | None, Field(description="instead of an Accept header")] = None
    task: Annotated[str | None, Field(min_length=1)] = None
    injection: Annotated[str | None, Field(min_length=1)] = None
    epoch: Annotated[int | None, Field(ge=1)] = None
    status: Status | None = None
    utility: Known | None = None
    attack_success: Known | None = None
    delivered: Known | None = None

    def filter(self) -> EpisodeFilter:
        """The filters that were given."""
        flags = {"true": True, "false": False, "null": None}
        given = {
            "task_id": self.task, "injection_id": self.injection, "epoch": self.epoch, "status": self.status,
        }
        known = {"utility": self.utility, "attack_success": self.attack_success, "delivered": self.delivered}
        return EpisodeFilter(
            equal={name: value for name, value in given.items() if value is not None},
            flags={name: flags[value] for name, value in known.items() if value is not None},
        )


@router.get("", responses={**answers(304, 404, 406), 200: {"model": EpisodePage, "content": FORMS}})
def get_episodes(run_id: str, params: Annotated[EpisodeParams, Query()], request: Request, services: WithServices) -> Response:
    """Read a sealed run's episodes in canonical order: JSON pages, the canonical NDJSON, or the Parquet object."""
    wanted = params.format or _accepted(request)
    with services.database.reading() as tables:
        seal = sealed_ledger(tables, run_id)
        require_open_episodes(tables, run_id)
    chosen = params.filter()
    if wanted == "json":
        return _page(request, services, seal, chosen, params)
    if params.cursor is not None or params.limit is not None:
        raise Malformed(
            "invalid-parameter", f"expected `cursor` and `limit` only for JSON pages, found them for {wanted}",
            remedy="leave them out, or ask for format=json",
        )
    if wanted == "ndjson":
        tag = seal.ledger if not chosen else f"{seal.ledger}.{query_mark(chosen.described())}"
        return _unless_known(request, tag) or StreamingResponse(
            services.ledgers.lines(seal.ledger, chosen), media_type=MEDIA_TYPES["ndjson"], headers=_headers(tag)
        )
    if chosen:
        raise Malformed(
            "invalid-parameter", "expected no filters for parquet, which is the whole stored object", remedy="ask for format=ndjson"
        )
    tag = f"{seal.ledger}.parquet"
    return _unless_known(request, tag) or StoredFile(services.ledgers.fetched(seal.ledger), _headers(tag), MEDIA_TYPES["parquet"])


def _page(request: Request, services: Services, seal: Seal, chosen: EpisodeFilter, params: EpisodeParams) -> Response:
    size = params.size(services.settings)
    mark = query_mark(["episodes", seal.ledger, chosen.described()])
    place = place_of(params.cursor, mark, (int,))
    start = 0 if place is None else max(int(place[0]), 0)
    tag = f"{seal.ledger}.{mark}.{start}.{size}"
    known = _unless_known(request, tag)
    if known is not None:
        return known
    rows, following = services.ledgers.page(seal.ledger, chosen, start, size)
    answer = {"items": rows, "next": None if following is None else cursor_at(mark, (following,))}
    return Response(canonical_bytes(answer), 200, _headers(tag), MEDIA_TYPES["json"])


def _headers(tag: str) -> dict[str, str]:
    return immutable_headers(tag, {"Vary": "Accept"})


def _unless_known(request: Request, tag: str) -> Response | None:
    return not_modified(request, tag, {"Vary": "Accept"})


def _accepted(request: Request) -> Format:
    """The format that the Accept header wants most; JSON pages where it takes anything.

    Raises:
        Malformed: it takes none of them.
    """
    header = request.headers.get("accept", "*/*")
    best: tuple[float, Format] | None = None
    for weight, kind in _accept_parts(header):
        for name, media_type in MEDIA_TYPES.items():
            if kind in ("*/*", "application/*", media_type) and weight > 0 and (best is None or weight > best[0]):
                best = (weight, name)
    if best is None:
        raise Malformed("not-acceptable", f"expected Accept to take one of {', '.join(MEDIA_TYPES.values())}, found {shown(header)}")
    return best[1]


def _accept_parts(header: str) -> Iterator[tuple[float, str]]:
    for part in header.split(","):
        kind, _, parameters = part.strip().lower().partition(";")
        weight = 1.0
        for parameter in parameters.split(";"):
            name, _, value = parameter.strip().partition("=")
            if name == "q":
                try:
                    weight = float(value)
                except ValueError:
                    weight = 0.0
        yield weight, kind.strip()


