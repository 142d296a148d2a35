"""Calls about people: who the caller is, members, API keys, the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from pairmark.client.connection import Call, Connection
from pairmark.domain.canonical import canonical_bytes
from pairmark.http.people_models import (
    AuditItem,
    AuditPage,
    CallerAnswer,
    KeyAnswer,
    KeyList,
    KeyMadeAnswer,
    MemberAnswer,
    MemberList,
    OrganisationAnswer,
    OrganisationList,
)

_JSON = {"Content-Type": "application/json"}


class PeopleCalls:
    """One method for each call."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def me(self) -> CallerAnswer:
        """Whom the service takes this client for."""
        return self._connection.ask(Call("GET", "/v1/me"), CallerAnswer).model

    def organisations(self) -> tuple[OrganisationAnswer, ...]:
        """The caller's organisation; all of them for whoever runs the service."""
        return self._connection.ask(Call("GET", "/v1/organisations"), OrganisationList).model.items

    def found_organisation(self, name: str) -> OrganisationAnswer:
        """A new organisation."""
        return self._connection.ask(_post("/v1/organisations", {"name": name}), OrganisationAnswer).model

    def members(self, organisation: str | None = None) -> tuple[MemberAnswer, ...]:
        """Members of the caller's organisation, or of another one for whoever runs the service."""
        asked = {} if organisation is None else {"organisation": organisation}
        return self._connection.ask(Call("GET", "/v1/members", parameters=asked), MemberList).model.items

    def add_member(
        self, name: str, roles: Sequence[str], *, organisation: str | None = None, issuer: str | None = None, subject: str | None = None
    ) -> MemberAnswer:
        """A new member; with `issuer` and `subject` one who signs in at an identity provider."""
        identity = None if issuer is None or subject is None else {"issuer": issuer, "subject": subject}
        body = {"name": name, "roles": list(roles), "organisation": organisation, "identity": identity}
        return self._connection.ask(_post("/v1/members", body), MemberAnswer).model

    def change_roles(self, member_id: str, roles: Sequence[str]) -> MemberAnswer:
        """Give a member these roles and no others, unless somebody else changes the member at the same time."""
        place = f"/v1/members/{quote(member_id, safe='')}"
        tag = self._connection.ask(Call("GET", place), MemberAnswer).tag
        content = canonical_bytes({"roles": list(roles)})
        headers = _JSON if tag is None else {**_JSON, "If-Match": tag}
        return self._connection.ask(Call("PATCH", place, lambda: content, headers), MemberAnswer).model

    def remove_member(self, member_id: str) -> MemberAnswer:
        """End a membership."""
        return self._connection.ask(Call("DELETE", f"/v1/members/{quote(member_id, safe='')}"), MemberAnswer).model

    def keys(self) -> tuple[KeyAnswer, ...]:
        """The caller's keys; for an admin, the organisation's."""
        return self._connection.ask(Call("GET", "/v1/keys"), KeyList).model.items

    def make_key(
        self, label: str, *, member: str | None = None, scopes: Sequence[str] | None = None, expires_at: str | None = None
    ) -> KeyMadeAnswer:
        """A new key; its token is in this answer and nowhere else."""
        body = {"label": label, "member": member, "scopes": None if scopes is None else list(scopes), "expires_at": expires_at}
        return self._connection.ask(_post("/v1/keys", body), KeyMadeAnswer).model

    def revoke_key(self, key_id: str) -> KeyAnswer:
        """End a key."""
        return self._connection.ask(Call("DELETE", f"/v1/keys/{quote(key_id, safe='')}"), KeyAnswer).model

    def audit(self, **filters: str | None) -> Iterator[AuditItem]:
        """Every change of state, the newest first, page by page behind the scenes."""
        asked: dict[str, Any] = {name: value for name, value in filters.items() if value is not None}
        while True:
            page = self._connection.ask(Call("GET", "/v1/audit", parameters=asked), AuditPage).model
            yield from page.items
            if page.next is None:
                return
            asked["cursor"] = page.next


def _post(path: str, body: Mapping[str, Any]) -> Call:
    content = canonical_bytes({name: value for name, value in body.items() if value is not None})
    return Call("POST", path, lambda: content, {**_JSON, "Idempotency-Key": uuid4().hex})
