"""What only its owner may change."""

from __future__ import annotations

from collections.abc import Iterable

from pairmark.app.errors import NotPermitted
from pairmark.app.people_records import Publication
from pairmark.app.ports import Tables
from pairmark.app.read_certificate import certificate_of_id
from pairmark.app.read_certification import certification_of_id
from pairmark.app.read_run import run_of_id


def require_own_runs(tables: Tables, run_ids: Iterable[str]) -> None:
    """Refuse runs of another organisation, published ones too.

    Raises:
        NotFound: no such run, as far as the caller sees.
        NotPermitted: another organisation's.
    """
    for run_id in run_ids:
        run_of_id(tables, run_id)
        if not tables.people.own_run(run_id):
            raise _not_own(f"run {run_id}")


def require_own_certificate(tables: Tables, certificate_id: str) -> None:
    """Refuse a certificate over another organisation's runs.

    Raises:
        NotFound: no such certificate, as far as the caller sees.
        NotPermitted: another organisation's.
    """
    certificate_of_id(tables, certificate_id)
    if not tables.people.own_certificate(certificate_id):
        raise _not_own(f"certificate {certificate_id}")


def require_own_certification(tables: Tables, certification_id: str) -> None:
    """Refuse a verdict over another organisation's runs.

    Raises:
        NotFound: no such certification, as far as the caller sees.
        NotPermitted: another organisation's.
    """
    require_own_runs(tables, (certification_of_id(tables, certification_id).attacked,))


def publish(tables: Tables, publication: Publication) -> None:
    """Let everybody read a certificate and its runs. What is public stays public; private episodes may be opened later.

    Raises:
        NotFound: no such certificate, as far as the caller sees.
        NotPermitted: another organisation's.
    """
    require_own_certificate(tables, publication.certificate)
    there = tables.people.publication(publication.certificate)
    if there is None or (there.episodes == "private" and publication.episodes == "public"):
        tables.people.publish(publication)


def _not_own(what: str) -> NotPermitted:
    return NotPermitted("not-yours", f"expected something of your own organisation, found {what}, which is another's", "ask its owner")
