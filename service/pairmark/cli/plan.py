"""`pairmark plan`: what an evaluation shows and costs before it is run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairmark.cli.console import say_all, say_bytes
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl

if TYPE_CHECKING:
    from pairmark.domain.documents.evaluation_plan import EvaluationPlan
    from pairmark.domain.errors import Malformed


class Format(StrEnum):
    """How a plan is shown."""

    TEXT = "text"
    JSON = "json"


def plan(
    suite: Annotated[str | None, typer.Option("--suite", metavar="SUITE", help="Manifest file, digest or label: gives the sizes.")] = None,
    pilot: Annotated[str | None, typer.Option("--pilot", metavar="ID", help="Certificate of a pilot: gives rates and spread.")] = None,
    tasks: Annotated[int | None, typer.Option("--tasks", help="Number of tasks.")] = None,
    injections: Annotated[int | None, typer.Option("--injections", help="Number of injections.")] = None,
    cells: Annotated[int | None, typer.Option("--cells", help="Attacked cells, if not tasks × injections.")] = None,
    clean_rate: Annotated[float | None, typer.Option("--clean-rate", help="Share of tasks done without attack, 0 to 1.")] = None,
    survival: Annotated[float | None, typer.Option("--survival", help="Share of those still done under attack, 0 to 1.")] = None,
    half_width: Annotated[float | None, typer.Option("--half-width", help="Half-width to reach, such as 0.05.")] = None,
    difference: Annotated[float | None, typer.Option("--difference", help="Difference to find between two systems, such as 0.05.")] = None,
    discordance: Annotated[float | None, typer.Option("--discordance", help="Share of tasks on which the two differ.")] = None,
    power: Annotated[float | None, typer.Option("--power", help="Chance to find it.  [default: 0.8]")] = None,
    deff: Annotated[float | None, typer.Option("--deff", help="Design effect: variance against independent tasks.")] = None,
    benign_epochs: Annotated[int | None, typer.Option("--benign-epochs", help="Epochs of the benign arm.  [default: 1]")] = None,
    attacked_epochs: Annotated[int | None, typer.Option("--attacked-epochs", help="Epochs of the attacked arm.  [default: 1]")] = None,
    baseline_epochs: Annotated[int | None, typer.Option("--baseline-epochs", help="Epochs of the baseline; 0 for none.  [default: 1]")] = None,
    calls: Annotated[str | None, typer.Option("--calls", metavar="LOW:HIGH", help="Model calls per episode.  [default: 5:15]")] = None,
    seconds: Annotated[str | None, typer.Option("--seconds", metavar="LOW:HIGH", help="Seconds per call.")] = None,
    price: Annotated[str | None, typer.Option("--price", metavar="LOW:HIGH", help="Price per call.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="text: for people; json: the plan.")] = Format.TEXT,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:  # fmt: skip
    """Plan an evaluation. Half-widths, detectable differences, what halves the interval, episodes, calls, hours and cost.

    Works offline unless a pilot, or a suite that is no file, has to be looked up at a service.
    """
    asked: dict[str, Any] = {
        "suite": suite, "pilot": pilot, "tasks": tasks, "injections": injections, "cells": cells, "clean_rate": clean_rate,
        "survival": survival, "half_width": half_width, "difference": difference, "discordance": discordance, "power": power,
        "deff": deff, "benign_epochs": benign_epochs, "attacked_epochs": attacked_epochs, "baseline_epochs": baseline_epochs,
        "calls_per_episode": _span("--calls", calls), "seconds_per_call": _span("--seconds", seconds),
        "price_per_call": _span("--price", price),
    }  # fmt: skip
    from pairmark.domain.errors import Malformed

    try:
        found = _planned({name: value for name, value in asked.items() if value is not None}, service, data)
    except Malformed as problem:
        raise _in_options(problem, asked) from None
    if format_ is Format.JSON:
        from pairmark.domain.canonical import canonical_bytes

        say_bytes(canonical_bytes(found.model_dump(mode="json", by_alias=True)))
        return OK
    from pairmark.cli.plan_text import plan_lines

    say_all(plan_lines(found.model_dump(mode="json")))
    return OK


_OPTIONS = {"calls_per_episode": "--calls", "seconds_per_call": "--seconds", "price_per_call": "--price"}


def _in_options(problem: Malformed, asked: Mapping[str, Any]) -> Malformed:
    """The refusal in the words of the command line: an option where the document's key or pointer stands."""
    from dataclasses import replace

    def option(key: str) -> str:
        return _OPTIONS.get(key, "--" + key.replace("_", "-"))

    if problem.file is not None or problem.pointer is None:
        return problem

    def said(text: str | None) -> str | None:
        named = re.sub(r"`(\w+)`", lambda found: option(found[1]) if found[1] in asked else found[0], text or "")
        return None if text is None else named

    key = problem.pointer.split("/")[1] if problem.pointer else ""
    message = f"{option(key)}: {said(problem.message)}" if key in asked else str(said(problem.message))
    remedy = "`pairmark plan --help` says what each takes" if "schemas/" in (problem.remedy or "") else said(problem.remedy)
    return replace(problem, message=message, remedy=remedy, pointer=None, line=None)


def _planned(asked: dict[str, Any], service: str, data: Path | None) -> EvaluationPlan:
    from pairmark.domain.canonical import canonical_bytes
    from pairmark.domain.documents.base import read_document
    from pairmark.domain.documents.evaluation_plan import PlanRequest

    _refuse_infinite(asked)
    file = asked.get("suite")
    is_file = isinstance(file, str) and Path(file).is_file()
    if "pilot" in asked or (file is not None and not is_file):
        if is_file:
            from pairmark.adapters.ledgers.documents import read_suite

            asked["suite"] = read_suite(str(file)).digest
        body = canonical_bytes(asked)
        read_document(PlanRequest, body)
        with client_at(service, data) as client:
            return client.plan(body).model
    from pairmark.app.plan_evaluation import plan_evaluation
    from pairmark.app.planning.inputs import PlannedSuite

    sizes = None
    if is_file:
        from pairmark.adapters.ledgers.documents import read_suite
        from pairmark.domain.plan import Plan

        loaded = read_suite(str(file))
        sizes = PlannedSuite.of(Plan(loaded.manifest), loaded.digest)
        asked["suite"] = loaded.digest
    request, _ = read_document(PlanRequest, canonical_bytes(asked))
    return plan_evaluation(request, sizes, None)


def _refuse_infinite(asked: dict[str, Any]) -> None:
    import math

    from pairmark.domain.errors import Malformed

    for name, value in asked.items():
        numbers = value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
            raise Malformed(
                "invalid-value", f"expected a finite number, found {value}", pointer=f"/{name}", remedy="give a number"
            )


def _span(option: str, text: str | None) -> dict[str, float] | None:
    """`LOW:HIGH`, or one number for both.

    Raises:
        Malformed: not one or two numbers.
    """
    if text is None:
        return None
    from pairmark.domain.errors import Malformed, shown

    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise Malformed("usage", f"expected {option} LOW:HIGH, found {shown(text)}", remedy="such as 5:15")
    return {"low": numbers[0], "high": numbers[-1]}
