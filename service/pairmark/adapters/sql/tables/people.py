"""Organisations, members, keys, publications."""

from __future__ import annotations

from typing import cast, get_args

from sqlalchemy import literal
from sqlmodel import Session, col, select

from pairmark.adapters.sql.people_models import ApiKeyRow, MemberRow, OrganisationRow, PublicationRow
from pairmark.adapters.sql.tables.seen import own_certificate, own_run, run_seen
from pairmark.app.paging import is_plain
from pairmark.app.people_records import ApiKey, Episodes, Member, Organisation, Publication
from pairmark.domain.access import Permission, Role, Viewer


class SqlPeople:
    def __init__(self, session: Session, viewer: Viewer) -> None:
        self._session = session
        self._viewer = viewer

    def add_organisation(self, organisation: Organisation) -> None:
        self._session.add(OrganisationRow(id=organisation.id, name=organisation.name, created_at=organisation.created_at))
        self._session.flush()

    def organisation(self, organisation_id: str) -> Organisation | None:
        row = self._session.get(OrganisationRow, organisation_id) if is_plain(organisation_id) else None
        return None if row is None else Organisation(row.id, row.name, row.created_at)

    def organisations(self) -> tuple[Organisation, ...]:
        rows = self._session.exec(select(OrganisationRow).order_by(col(OrganisationRow.created_at), col(OrganisationRow.id)))
        return tuple(Organisation(row.id, row.name, row.created_at) for row in rows)

    def add_member(self, member: Member) -> None:
        row = MemberRow(
            id=member.id, organisation=member.organisation, name="", roles="", issuer=None, subject=None, created_at=member.created_at,
            removed_at=None,
        )
        _fill_member(row, member)
        self._session.add(row)
        self._session.flush()

    def member(self, member_id: str) -> Member | None:
        row = self._session.get(MemberRow, member_id) if is_plain(member_id) else None
        return None if row is None else _member(row)

    def member_of_subject(self, issuer: str, subject: str) -> Member | None:
        if not (is_plain(issuer) and is_plain(subject)):
            return None
        asked = select(MemberRow).where(MemberRow.issuer == issuer, MemberRow.subject == subject)
        row = self._session.exec(asked).first()
        return None if row is None else _member(row)

    def members(self, organisation: str) -> tuple[Member, ...]:
        asked = select(MemberRow).where(MemberRow.organisation == organisation)
        return tuple(_member(row) for row in self._session.exec(asked.order_by(col(MemberRow.created_at), col(MemberRow.id))))

    def change_member(self, member: Member) -> None:
        row = self._session.get_one(MemberRow, member.id)
        _fill_member(row, member)
        self._session.add(row)
        self._session.flush()

    def add_key(self, key: ApiKey) -> None:
        self._session.add(
            ApiKeyRow(
                id=key.id, member=key.member, label=key.label, secret_digest=key.secret_digest, scopes=",".join(key.scopes),
                created_at=key.created_at, expires_at=key.expires_at, last_used_at=key.last_used_at, revoked_at=key.revoked_at,
            )
        )
        self._session.flush()

    def key(self, key_id: str) -> ApiKey | None:
        row = self._session.get(ApiKeyRow, key_id) if is_plain(key_id) else None
        return None if row is None else _key(row)

    def keys(self, organisation: str) -> tuple[ApiKey, ...]:
        asked = select(ApiKeyRow).join(MemberRow, col(MemberRow.id) == col(ApiKeyRow.member)).where(MemberRow.organisation == organisation)
        return tuple(_key(row) for row in self._session.exec(asked.order_by(col(ApiKeyRow.created_at), col(ApiKeyRow.id))))

    def change_key(self, key: ApiKey) -> None:
        row = self._session.get_one(ApiKeyRow, key.id)
        row.last_used_at, row.revoked_at = key.last_used_at, key.revoked_at
        self._session.add(row)
        self._session.flush()

    def any_key(self) -> bool:
        return self._session.exec(select(literal(1)).select_from(ApiKeyRow).limit(1)).first() is not None

    def publish(self, publication: Publication) -> None:
        there = self._session.get(PublicationRow, publication.certificate)
        if there is None:
            there = PublicationRow(certificate=publication.certificate, episodes=publication.episodes, created_at=publication.at)
        there.episodes = publication.episodes
        self._session.add(there)
        self._session.flush()

    def publication(self, certificate: str) -> Publication | None:
        row = self._session.get(PublicationRow, certificate) if is_plain(certificate) else None
        return None if row is None else Publication(row.certificate, cast("Episodes", row.episodes), row.created_at)

    def episodes_open(self, run_id: str) -> bool:
        return is_plain(run_id) and bool(self._session.exec(select(run_seen(self._viewer, literal(run_id), episodes=True))).one())

    def own_run(self, run_id: str) -> bool:
        return is_plain(run_id) and bool(self._session.exec(select(own_run(self._viewer, literal(run_id)))).one())

    def own_certificate(self, certificate_id: str) -> bool:
        return is_plain(certificate_id) and bool(self._session.exec(select(own_certificate(self._viewer, literal(certificate_id)))).one())


def _fill_member(row: MemberRow, member: Member) -> None:
    row.name, row.roles = member.name, ",".join(member.roles)
    row.issuer, row.subject, row.removed_at = member.issuer, member.subject, member.removed_at


def _member(row: MemberRow) -> Member:
    known = get_args(Role)
    roles = tuple(cast("Role", role) for role in row.roles.split(",") if role in known)
    return Member(row.id, row.organisation, row.name, roles, row.issuer, row.subject, row.created_at, row.removed_at)


def _key(row: ApiKeyRow) -> ApiKey:
    known = get_args(Permission)
    scopes = tuple(cast("Permission", scope) for scope in row.scopes.split(",") if scope in known)
    return ApiKey(
        row.id, row.member, row.label, row.secret_digest, scopes, row.created_at, row.expires_at, row.last_used_at, row.revoked_at
    )
