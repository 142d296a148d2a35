"""People: who the caller is, organisations, members, API keys, and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Response
from pydantic import Field

from pairmark.app.audit import list_audit
from pairmark.app.errors import NotCurrent
from pairmark.app.people import (
    change_member,
    end_key,
    found_organisation,
    join,
    keys_seen,
    leave,
    make_key,
    member_of_id,
    permissions_of_key,
)
from pairmark.app.people_records import ApiKey, AuditEntry, AuditQuery, Member, Organisation
from pairmark.app.ports import KeptAnswer, Tables
from pairmark.domain.access import PERMISSIONS, Principal
from pairmark.domain.canonical import digest_of
from pairmark.domain.documents.base import Identifier
from pairmark.http.access import new_secret
from pairmark.http.answers import changing_json, kept_json
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.once import WithOnce
from pairmark.http.paging import PageParams
from pairmark.http.people_models import (
    AuditPage,
    CallerAnswer,
    KeyAnswer,
    KeyList,
    KeyMadeAnswer,
    KeyRequest,
    MemberAnswer,
    MemberChange,
    MemberIdentity,
    MemberList,
    MemberRequest,
    OrganisationAnswer,
    OrganisationList,
    OrganisationRequest,
)
from pairmark.http.services import Services, WithServices

router = APIRouter(prefix="/v1", tags=["people"])


@router.get("/me", responses=answers(401, 403, s200=CallerAnswer))
def get_me(services: WithServices) -> Response:
    """Whom the service takes the caller for, and what that caller may do."""
    who = services.principal
    permissions = [each for each in PERMISSIONS if each in who.permissions]
    return changing_json({"via": who.via, "organisation": who.organisation, "member": who.member, "key": who.key, "permissions": permissions})


@router.get("/organisations", responses=answers(401, 403, s200=OrganisationList))
def get_organisations(services: WithServices) -> Response:
    """The caller's organisation; all of them for whoever runs the service."""
    who = services.principal
    with services.database.reading() as tables:
        found = [each for each in tables.people.organisations() if who.operates or each.id == who.organisation]
    return changing_json({"items": [organisation_answer(each) for each in found]})


@router.post("/organisations", status_code=201, openapi_extra=json_of(OrganisationRequest), responses=answers(400, 401, 403, 409, 413, 415, s201=OrganisationAnswer))
def post_organisation(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Found an organisation. Only admins of the one that runs the service may."""
    asked, _ = body.read(OrganisationRequest)
    services.require_operator("found organisations")
    made_id = services.new_id("organisation")
    return once.answer(lambda tables: kept_json(201, organisation_answer(found_organisation(tables, made_id, asked.name, services.clock()))))


class OfOrganisation(PageParams):
    organisation: Annotated[Identifier | None, Field(description="another organisation's, for whoever runs the service")] = None


def _place(asked: str | None, who: Principal) -> str:
    return who.owner if asked is None or not who.operates else asked


@router.get("/members", responses=answers(401, 403, s200=MemberList))
def get_members(services: WithServices, organisation: Annotated[str | None, Query(max_length=64)] = None) -> Response:
    """Members of the caller's organisation, those who left too."""
    with services.database.reading() as tables:
        found = tables.people.members(_place(organisation, services.principal))
    return changing_json({"items": [member_answer(each) for each in found]})


@router.post("/members", status_code=201, openapi_extra=json_of(MemberRequest), responses=answers(400, 401, 403, 404, 409, 413, 415, s201=MemberAnswer))
def post_member(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Add a member to the caller's organisation."""
    asked, _ = body.read(MemberRequest)

    def add(tables: Tables) -> KeptAnswer:
        made = join(
            tables, services.principal, services.new_id("member"), organisation=asked.organisation, name=asked.name, roles=asked.roles,
            identity=_identity(asked.identity), now=services.clock(),
        )  # fmt: skip
        return kept_json(201, member_answer(made), {"Location": f"/v1/members/{made.id}", "ETag": _tag(made)})

    return once.answer(add)


@router.get("/members/{member_id}", responses=answers(401, 403, 404, s200=MemberAnswer))
def get_member(member_id: str, services: WithServices) -> Response:
    """A member; the answer's `ETag` is what a change has to name in `If-Match`."""
    with services.database.reading() as tables:
        found = member_of_id(tables, services.principal, member_id)
    return changing_json(member_answer(found), headers={"ETag": _tag(found)})


IfMatch = Annotated[str | None, Header(description="`ETag` of the member as it was read")]


@router.patch("/members/{member_id}", openapi_extra=json_of(MemberChange), responses=answers(400, 401, 403, 404, 409, 412, 413, 415, 428, s200=MemberAnswer))
def patch_member(member_id: str, body: WithJson, services: WithServices, if_match: IfMatch = None) -> Response:
    """Change a member's name, roles or identity, as it was when it was read."""
    asked, _ = body.read(MemberChange)

    def change(tables: Tables) -> Member:
        _require_current(if_match, member_of_id(tables, services.principal, member_id))
        return change_member(
            tables, services.principal, member_id, name=asked.name, roles=asked.roles, identity=_identity(asked.identity)
        )  # fmt: skip

    changed = services.database.write(change)
    return changing_json(member_answer(changed), headers={"ETag": _tag(changed)})


@router.delete("/members/{member_id}", responses=answers(401, 403, 404, 409, s200=MemberAnswer))
def delete_member(member_id: str, services: WithServices) -> Response:
    """End a membership and with it the member's keys; the row stays, marked."""
    return changing_json(member_answer(services.database.write(lambda tables: leave(tables, services.principal, member_id, services.clock()))))


@router.get("/keys", responses=answers(401, 403, s200=KeyList))
def get_keys(services: WithServices) -> Response:
    """The caller's own keys; an admin's organisation's."""
    with services.database.reading() as tables:
        found = keys_seen(tables, services.principal)
    return changing_json({"items": [key_answer(key, member, services.clock()) for key, member in found]})


@router.post("/keys", status_code=201, openapi_extra=json_of(KeyRequest), responses=answers(400, 401, 403, 404, 409, 413, 415, s201=KeyMadeAnswer))
def post_key(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Make an API key. Its token is in this answer and nowhere else: a replay under the same Idempotency-Key has null in its place."""
    asked, _ = body.read(KeyRequest)
    tokens: list[str] = []

    def make(tables: Tables) -> KeptAnswer:
        made = make_key(
            tables, services.principal, member_id=asked.member, label=asked.label, scopes=asked.scopes,
            expires_at=None if asked.expires_at is None else datetime.fromisoformat(asked.expires_at.upper()),
            new_id=services.new_id, new_secret=new_secret, now=services.clock(),
        )  # fmt: skip
        tokens[:] = [made.token]  # the work may run again on a fresh view
        return kept_json(201, {**_key_answer(tables, made.key, services), "token": None})

    answer = once.answer(make)
    if not tokens:
        return answer
    shown = {**orjson.loads(bytes(answer.body)), "token": tokens[0]}
    return changing_json(shown, 201, {"Cache-Control": "no-store"})


@router.delete("/keys/{key_id}", responses=answers(401, 403, 404, s200=KeyAnswer))
def delete_key(key_id: str, services: WithServices) -> Response:
    """Revoke a key."""

    def end(tables: Tables) -> dict[str, Any]:
        return _key_answer(tables, end_key(tables, services.principal, key_id, services.clock()), services)

    return changing_json(services.database.write(end))


class AuditParams(PageParams):
    """Filters hold together."""

    organisation: Annotated[Identifier | None, Field(description="another organisation's, for whoever runs the service")] = None
    member: Identifier | None = None
    action: Annotated[Identifier | None, Field(description="method and path, such as `POST /v1/runs`")] = None


@router.get("/audit", responses=answers(401, 403, s200=AuditPage))
def get_audit(params: Annotated[AuditParams, Query()], services: WithServices) -> Response:
    """Every change of state, the newest first: who, what, when, from where, before and after."""
    who = services.principal
    place = params.organisation if who.operates else who.organisation
    with services.database.reading() as tables:
        page = list_audit(tables, AuditQuery(place, params.member, params.action), params.cursor, params.size(services.settings))
    return changing_json({"items": [audit_answer(each) for each in page.items], "next": page.next})


def _require_current(if_match: str | None, member: Member) -> None:
    if if_match is None:
        raise NotCurrent("if-match-missing", "expected `If-Match` with the member's `ETag`, found none", "GET it first, and send its ETag")
    if if_match.strip() != _tag(member):
        raise NotCurrent("changed-meanwhile", f"expected the member as it was read ({if_match[:80]}), found it changed", "GET it again")


def _identity(asked: MemberIdentity | None) -> tuple[str, str] | None:
    return None if asked is None else (asked.issuer, asked.subject)


def organisation_answer(organisation: Organisation) -> dict[str, Any]:
    """An organisation as answers show it."""
    return {"id": organisation.id, "name": organisation.name, "created_at": organisation.created_at}


def member_answer(member: Member) -> dict[str, Any]:
    """A member as answers show it."""
    identity = None if member.issuer is None else {"issuer": member.issuer, "subject": member.subject}
    return {
        "id": member.id, "organisation": member.organisation, "name": member.name, "roles": list(member.roles), "identity": identity,
        "created_at": member.created_at, "removed_at": member.removed_at,
    }  # fmt: skip


def _tag(member: Member) -> str:
    return f'"{digest_of(member_answer(member))}"'


def key_answer(key: ApiKey, member: Member, now: datetime) -> dict[str, Any]:
    """A member's key as answers show it, without its secret, and with what it opens now."""
    opens = permissions_of_key(member, key, now)
    return {
        "id": key.id, "member": key.member, "label": key.label, "scopes": list(key.scopes),
        "permissions": [each for each in PERMISSIONS if each in opens], "created_at": key.created_at,
        "expires_at": key.expires_at, "last_used_at": key.last_used_at, "revoked_at": key.revoked_at,
    }  # fmt: skip


def _key_answer(tables: Tables, key: ApiKey, services: Services) -> dict[str, Any]:
    return key_answer(key, member_of_id(tables, services.principal, key.member), services.clock())


def audit_answer(entry: AuditEntry) -> dict[str, Any]:
    """An entry of the audit log as answers show it."""
    return {
        "id": entry.id, "at": entry.at, "organisation": entry.organisation, "member": entry.member, "key": entry.key, "via": entry.via,
        "address": entry.address, "request": entry.request, "action": entry.action, "changes": [dict(each) for each in entry.changes],
    }  # fmt: skip
