"""Certificates: the released pairs."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from pairmark.app.read_certificate import read_certificate
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.strict_json import parse
from pairmark.http.answers import immutable
from pairmark.http.documented import answers
from pairmark.http.models import CertificateAnswer
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/certificates", tags=["certificates"])


@router.get("/{certificate_id}", responses=answers(404, s200=CertificateAnswer))
def get_certificate(certificate_id: str, request: Request, services: WithServices) -> Response:
    """Read a certificate (not signed yet) and the report it releases."""
    with services.database.reading() as tables:
        found = read_certificate(tables, certificate_id)
    digest = found.certificate.document
    answer = {"digest": digest, "certificate": parse(found.content), "report": parse(found.report)}
    return immutable(request, digest, canonical_bytes(answer))
