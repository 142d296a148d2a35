"""Calls about people: who the caller is, members, API keys, the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from pairmark.client.steps import Call, Steps, ask, asked, get, patch, post
from pairmark.client.verbs import Awaited, Listing, Paged, Verb, Waiting
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


class PeopleVerbs:
    """One method for each call."""

    @Verb
    def me(self) -> Steps[CallerAnswer]:
        """Whom the service takes this client for."""
        return (yield from asked(get("/v1/me"), CallerAnswer))

    @Verb
    def organisations(self) -> Steps[tuple[OrganisationAnswer, ...]]:
        """The caller's organisation; all of them for whoever runs the service."""
        return (yield from asked(get("/v1/organisations"), OrganisationList)).items

    @Verb
    def found_organisation(self, name: str) -> Steps[OrganisationAnswer]:
        """A new organisation."""
        return (yield from asked(_post("/v1/organisations", {"name": name}), OrganisationAnswer))

    @Verb
    def members(self, organisation: str | None = None) -> Steps[tuple[MemberAnswer, ...]]:
        """Members of the caller's organisation, or of another one for whoever runs the service."""
        return (yield from asked(get("/v1/members", {"organisation": organisation}), MemberList)).items

    @Verb
    def add_member(
        self, name: str, roles: Sequence[str], *, organisation: str | None = None, issuer: str | None = None, subject: str | None = None
    ) -> Steps[MemberAnswer]:
        """A new member; with `issuer` and `subject` one who signs in at an identity provider."""
        identity = None if issuer is None or subject is None else {"issuer": issuer, "subject": subject}
        body = {"name": name, "roles": list(roles), "organisation": organisation, "identity": identity}
        return (yield from asked(_post("/v1/members", body), MemberAnswer))

    @Verb
    def change_roles(self, member_id: str, roles: Sequence[str]) -> Steps[MemberAnswer]:
        """Give a member these roles and no others, unless somebody else changes the member at the same time."""
        place = _member(member_id)
        read = yield from ask(get(place), MemberAnswer)
        return (yield from asked(patch(place, canonical_bytes({"roles": list(roles)}), read.tag), MemberAnswer))

    @Verb
    def remove_member(self, member_id: str) -> Steps[MemberAnswer]:
        """End a membership."""
        return (yield from asked(Call("DELETE", _member(member_id)), MemberAnswer))

    @Verb
    def keys(self) -> Steps[tuple[KeyAnswer, ...]]:
        """The caller's keys; for an admin, the organisation's."""
        return (yield from asked(get("/v1/keys"), KeyList)).items

    @Verb
    def make_key(
        self, label: str, *, member: str | None = None, scopes: Sequence[str] | None = None, expires_at: str | None = None
    ) -> Steps[KeyMadeAnswer]:
        """A new key; its token is in this answer and nowhere else."""
        body = {"label": label, "member": member, "scopes": None if scopes is None else list(scopes), "expires_at": expires_at}
        return (yield from asked(_post("/v1/keys", body), KeyMadeAnswer))

    @Verb
    def revoke_key(self, key_id: str) -> Steps[KeyAnswer]:
        """End a key."""
        return (yield from asked(Call("DELETE", f"/v1/keys/{quote(key_id, safe='')}"), KeyAnswer))

    @Listing
    def audit(self, /, **filters: str | None) -> Paged[AuditItem]:
        """Every change of state, the newest first, page by page behind the scenes."""

        def read(call: Call) -> Steps[tuple[Sequence[AuditItem], Call | None]]:
            page = yield from asked(call, AuditPage)
            return page.items, None if page.next is None else get("/v1/audit", {**filters, "cursor": page.next})

        return Paged(get("/v1/audit", filters), read)


class PeopleCalls(PeopleVerbs, Waiting):
    """Calls that wait."""


class AsyncPeopleCalls(PeopleVerbs, Awaited):
    """Calls that are awaited."""


def _member(member_id: str) -> str:
    return f"/v1/members/{quote(member_id, safe='')}"


def _post(path: str, body: Mapping[str, Any]) -> Call:
    return post(path, canonical_bytes({name: value for name, value in body.items() if value is not None}))
