"""Outcomes of a released pair, cell by cell."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from pairmark.app.certificate_cells import KINDS, CertificateCells, certificate_cells, open_cells_evidence
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Count, Identifier, Strict
from pairmark.http.answers import immutable
from pairmark.http.documented import answers
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/certificates/{certificate_id}/cells", tags=["certificates"])


class Cells(Strict):
    """One entry per planned attacked cell in each list, in the manifest's order: tasks, then injections.

    `task` and `injection` are places in `tasks` and `injections`. The kinds count pairs of outcomes over epochs;
    `attack_success` is out of `attack_success_known` episodes.
    """

    task: tuple[Count, ...]
    injection: tuple[Count, ...]
    lost: tuple[Count, ...]
    gained: tuple[Count, ...]
    kept: tuple[Count, ...]
    neither: tuple[Count, ...]
    attack_success: tuple[Count, ...]
    attack_success_known: tuple[Count, ...]


class CellsAnswer(Strict):
    """A released pair by cell; `epochs` are the attacked run's."""

    epochs: Count
    tasks: tuple[Identifier, ...]
    injections: tuple[Identifier, ...]
    cells: Cells


def cells_answer(found: CertificateCells) -> dict[str, Any]:
    """The outcomes as answers show them."""
    plan = found.experiment.plan
    return {
        "epochs": found.epochs, "tasks": list(plan.task_ids), "injections": list(plan.injection_ids),
        "cells": {
            "task": plan.cell_task.tolist(), "injection": plan.cell_injection.tolist(),
            **{kind: found.counts[kind].tolist() for kind in KINDS},
            "attack_success": found.attack_success.tolist(), "attack_success_known": found.attack_success_known.tolist(),
        },
    }  # fmt: skip


@router.get("", responses=answers(304, 403, 404, s200=CellsAnswer))
def get_cells(certificate_id: str, request: Request, services: WithServices) -> Response:
    """Count what happened in every planned cell: pairs of outcomes by kind, and attack successes."""
    with services.database.reading() as tables:
        evidence = open_cells_evidence(tables, certificate_id)
    content = canonical_bytes(cells_answer(certificate_cells(certificate_id, evidence, services.ledgers)))
    return immutable(request, f"{certificate_id}.cells", content)
