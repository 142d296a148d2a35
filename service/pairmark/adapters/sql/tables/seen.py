"""Which rows a caller sees: its own organisation's and what is published. Everything that reads private rows asks here."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, true
from sqlmodel import col

from pairmark.adapters.sql.models import CertificateRow, CertificationRow
from pairmark.adapters.sql.people_models import PublicationRow, RunOwnerRow
from pairmark.domain.access import FIRST_ORGANISATION, Viewer


def own_run(viewer: Viewer, run: Any) -> ColumnElement[bool]:
    """Whether the run in column `run` belongs to the viewer's organisation."""
    if viewer.everything:
        return true()
    owner = select(col(RunOwnerRow.organisation)).where(col(RunOwnerRow.run) == run)
    if viewer.organisation == FIRST_ORGANISATION:  # also what was stored before anybody signed in
        return ~exists(owner.where(col(RunOwnerRow.organisation) != FIRST_ORGANISATION))
    return exists(owner.where(col(RunOwnerRow.organisation) == viewer.organisation))


def same_owner(run: Any, other: Any) -> ColumnElement[bool]:
    """Whether two runs, each a column or an id, belong to one organisation."""

    def owner(of: Any) -> Any:
        return func.coalesce(select(col(RunOwnerRow.organisation)).where(col(RunOwnerRow.run) == of).scalar_subquery(), FIRST_ORGANISATION)

    return cast("ColumnElement[bool]", owner(run) == owner(other))


def published_run(run: Any, *, episodes: bool = False) -> ColumnElement[bool]:
    """Whether a published certificate rests on the run; with its episodes public, if asked for."""
    asked = (
        select(col(PublicationRow.certificate))
        .join(CertificateRow, col(CertificateRow.id) == col(PublicationRow.certificate))
        .join(CertificationRow, col(CertificationRow.id) == col(CertificateRow.certification))
        .where(or_(col(CertificationRow.benign) == run, col(CertificationRow.attacked) == run, col(CertificationRow.baseline) == run))
    )
    return exists(asked.where(col(PublicationRow.episodes) == "public") if episodes else asked)


def run_seen(viewer: Viewer, run: Any, *, episodes: bool = False) -> ColumnElement[bool]:
    """Whether a run's document, or its episodes too, may be read."""
    return true() if viewer.everything else or_(own_run(viewer, run), published_run(run, episodes=episodes))


def certification_seen(viewer: Viewer, certification: Any, attacked: Any) -> ColumnElement[bool]:
    """Whether a verdict may be read, by the columns of its id and its attacked run."""
    if viewer.everything:
        return true()
    published = (
        select(col(PublicationRow.certificate))
        .join(CertificateRow, col(CertificateRow.id) == col(PublicationRow.certificate))
        .where(col(CertificateRow.certification) == certification)
    )
    return or_(own_run(viewer, attacked), exists(published))


def own_certificate(viewer: Viewer, certificate: Any) -> ColumnElement[bool]:
    """Whether a certificate is over the viewer's organisation's own runs."""
    if viewer.everything:
        return true()
    own = (
        select(col(CertificateRow.id))
        .join(CertificationRow, col(CertificationRow.id) == col(CertificateRow.certification))
        .where(and_(col(CertificateRow.id) == certificate, own_run(viewer, col(CertificationRow.attacked))))
    )
    return exists(own)


def certificate_seen(viewer: Viewer, certificate: Any) -> ColumnElement[bool]:
    """Whether a certificate may be read."""
    if viewer.everything:
        return true()
    published = select(col(PublicationRow.certificate)).where(col(PublicationRow.certificate) == certificate)
    return or_(exists(published), own_certificate(viewer, certificate))


def entry_seen(viewer: Viewer, entry: Any, status: Any) -> ColumnElement[bool]:
    """Whether a history entry may be read: aggregates always, certificates as they are seen."""
    return true() if viewer.everything else or_(status == "uncertifiable", certificate_seen(viewer, entry))
