"""`pairmark check`: the verdict on a pair, offline."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.console import say, say_all, say_bytes
from pairmark.cli.exit_codes import OF_VERDICT
from pairmark.cli.pair import (
    DEFAULT_POLICY,
    AttackedBundle,
    BaselineBundle,
    BenignBundle,
    PolicyName,
    SuiteFile,
    read_pair,
)

if TYPE_CHECKING:
    from pairmark.app.check import CheckedPair


class Format(StrEnum):
    """How a report is shown."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


FormatOption = Annotated[
    Format,
    typer.Option(
        "--format", help="text: a checklist; json: the report and nothing else; github: workflow annotations."
    ),
]


def check(
    suite: SuiteFile,
    benign: BenignBundle,
    attacked: AttackedBundle,
    baseline: BaselineBundle = None,
    policy: PolicyName = DEFAULT_POLICY,
    format_: FormatOption = Format.TEXT,
) -> int:
    """Judge a pair by a policy. Every rule runs, and numbers come only with `certified`.

    Needs no service and no network. Exit: 0 certified, 1 refused, 2 malformed input or usage, 3 quarantined.
    """
    from pairmark.domain.errors import Malformed

    try:
        pair = read_pair(suite, benign, attacked, baseline, policy)
    except Malformed as problem:
        if format_ is Format.GITHUB:
            from pairmark.cli.github_report import malformed_annotation

            say(malformed_annotation(problem))
        raise
    from pairmark.adapters.quality.gate import great_expectations_gate
    from pairmark.app.check import check as judge

    checked = judge(pair.experiment, pair.policy.policy, pair.policy.digest, great_expectations_gate())
    show(checked, format_, label=pair.suite.manifest.version)
    return OF_VERDICT[checked.report.verdict]


def show(checked: CheckedPair, format_: Format, label: str | None = None) -> None:
    """Print a report; `label` is the suite version's label, which the report does not hold."""
    if format_ is Format.JSON:
        say_bytes(checked.content)
        return
    if format_ is Format.GITHUB:
        from pairmark.cli.github_report import annotation_lines

        say_all(annotation_lines(checked.value))
        return
    from pairmark.cli.text_report import report_lines

    say_all(report_lines(checked.value, label))
