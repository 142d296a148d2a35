"""The transparency log: its newest checkpoint, entries, proofs and trust root."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from pairmark.app.log_read import consistency, inclusion, log_page, newest_checkpoint
from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.errors import Malformed
from pairmark.domain.strict_json import parse
from pairmark.http.answers import CHANGING, changing_json
from pairmark.http.documented import answers
from pairmark.http.log_models import LogEntries, ProofAnswer
from pairmark.http.paging import PageParams
from pairmark.http.services import WithServices
from pairmark.provenance.note import encode_base64

router = APIRouter(prefix="/v1/log", tags=["log"])

NOTE = "text/plain; charset=utf-8"
Place = Annotated[int | None, Field(ge=0, le=2**53 - 1)]


@router.get("/checkpoint", responses={**answers(404), 200: {"content": {"text/plain": {}}}})
def get_checkpoint(services: WithServices) -> Response:
    """The newest signed head: a C2SP checkpoint."""
    services.publisher.publish()
    with services.database.reading() as tables:
        found = newest_checkpoint(tables)
    return Response(found.note, 200, {"Cache-Control": CHANGING}, NOTE)


class EntryParams(PageParams):
    """Entries by place."""

    start: Annotated[int, Field(ge=0, le=2**53 - 1, description="index of the first entry")] = 0
    cursor: Annotated[None, Field(description="not taken: give `start`")] = None


@router.get("/entries", responses=answers(404, s200=LogEntries))
def get_entries(params: Annotated[EntryParams, Query()], services: WithServices) -> Response:
    """Published entries in order, each with the signed envelope that it names."""
    with services.database.reading() as tables:
        page = log_page(tables, params.start, params.size(services.settings))
    items = [
        {"index": one.index, "entry": parse(one.entry), "envelope": None if one.envelope is None else encode_base64(one.envelope)}
        for one in page.entries
    ]
    return changing_json({"size": page.size, "items": items, "next": page.next})


class ProofParams(BaseModel):
    """Either `index`, or `first`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    index: Annotated[Place, Field(description="prove this entry")] = None
    first: Annotated[Place, Field(description="prove that the tree of this size is the beginning")] = None
    size: Annotated[Place, Field(description="of the tree; by default the newest published")] = None


@router.get("/proof", responses=answers(404, s200=ProofAnswer))
def get_proof(params: Annotated[ProofParams, Query()], services: WithServices) -> Response:
    """Prove an entry, with its receipt, or that the log only grew."""
    with services.database.reading() as tables:
        if params.index is not None and params.first is None:
            found = inclusion(tables, params.index, params.size)
            return changing_json(
                {
                    "index": found.index, "first": None, "size": found.size, "leaf": encode_base64(found.leaf),
                    "path": [encode_base64(node) for node in found.path], "root": encode_base64(found.root),
                    "receipt": None if found.receipt is None else found.receipt.decode(),
                }
            )  # fmt: skip
        if params.first is not None and params.index is None:
            grown = consistency(tables, params.first, params.size)
            return changing_json(
                {
                    "index": None, "first": grown.first, "size": grown.size, "leaf": encode_base64(grown.first_root),
                    "path": [encode_base64(node) for node in grown.path], "root": encode_base64(grown.root), "receipt": None,
                }
            )  # fmt: skip
    raise Malformed("invalid-parameter", "expected either `index` or `first`, found both or neither", remedy="ask for one proof")


@router.get("/trust", responses={**answers(304), 200: {"content": {"application/json": {}}}})
def get_trust(request: Request, services: WithServices) -> Response:
    """`trust.json`: every version of the trust root. Pin its root digest from another source than this one."""
    content = services.signing.trust()
    tag = f'"{digest_of_bytes(content)}"'
    headers = {"Cache-Control": CHANGING, "ETag": tag, "Pairmark-Root-Digest": services.signing.chain.root_digest}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, 200, headers, "application/json")
