"""Certifications: the verdict rule by rule."""

from __future__ import annotations

from fastapi import Request, Response

from pairmark.http.pages.checklist import VERDICTS, checklist
from pairmark.http.pages.parameters import parameters
from pairmark.http.pages.rendering import page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import WithSources
from pairmark.http.routes.certification_list import CertificationParams

router = page_router()

LISTED = 50


@router.get("/certifications")
def get_certifications(request: Request, sources: WithSources) -> Response:
    """Every verdict, the newest first."""
    params = parameters(request, CertificationParams)
    found = sources.certifications(params.verdict, waiting=params.waiting, run=params.run, cursor=params.cursor, limit=LISTED)
    return page(request, "certifications.html", certifications=found, verdict=params.verdict, waiting=params.waiting, run=params.run)


@router.get("/certifications/{certification_id}")
def get_certification(certification_id: str, request: Request, sources: WithSources) -> Response:
    """A verdict as a checklist, or that it is being worked on."""
    found = sources.certification(certification_id)
    if found["report"] is None:
        status = 410 if found["state"] == "cancelled" else 202 if found["problem"] is None else 500 if found["refusal"] is None else 409
        return page(
            request, "certification_waiting.html", status, {"Retry-After": "2"} if status == 202 else None, certification=found,
            suite=sources.suite(found["manifest"])[1], caller=sources.caller(), may_submit=sources.may("submit"),
        )
    report = found["report"]
    return page(
        request, "certification.html", certification=found, report=report, lines=checklist(report["findings"]), means=VERDICTS[report["verdict"]],
        runs=found["runs"], label=sources.suite(found["manifest"])[1], run=sources.run(found["runs"]["attacked"])["run"], caller=sources.caller(),
        may_review=sources.may("review"),
    )  # fmt: skip
