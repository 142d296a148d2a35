"""`pairmark check`: the verdict on a pair, offline."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.console import say, say_all, say_bytes
from pairmark.cli.exit_codes import OF_VERDICT
from pairmark.cli.harness_input import (
    AttackOption,
    EpochOption,
    HarnessOption,
    MappingOption,
    SystemOption,
    harness_options,
)
from pairmark.cli.pair import (
    DEFAULT_POLICY,
    AttackedRun,
    BaselineRun,
    BenignRun,
    PolicyName,
    SuiteFile,
    read_pair,
)

if TYPE_CHECKING:
    from pairmark.app.check import CheckedPair
    from pairmark.cli.offences import Offences


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
    benign: BenignRun,
    attacked: AttackedRun,
    baseline: BaselineRun = None,
    policy: PolicyName = DEFAULT_POLICY,
    harness: HarnessOption = None,
    attack: AttackOption = None,
    system: SystemOption = None,
    epoch: EpochOption = None,
    mapping: MappingOption = None,
    format_: FormatOption = Format.TEXT,
) -> int:
    """Judge a pair by a policy. Every rule runs, and numbers come only with `certified`.

    Each arm is a run bundle, or a harness' own folder or log: that is imported in memory, and judged as its bundle would be.
    Needs no service and no network. Exit: 0 certified, 1 refused, 2 malformed input or usage, 3 quarantined.
    """
    from pairmark.domain.errors import Malformed

    options = harness_options(harness=harness, attack=attack, system=system, epoch=epoch, mapping=mapping)
    try:
        pair = read_pair(suite, benign, attacked, baseline, policy, options)
    except Malformed as problem:
        if format_ is Format.GITHUB:
            from pairmark.cli.github_report import malformed_annotation

            say(malformed_annotation(problem))
        raise
    from pairmark.adapters.quality.gate import great_expectations_gate
    from pairmark.app.check import check as judge

    checked = judge(pair.experiment, pair.policy.policy, pair.policy.digest, great_expectations_gate())
    if format_ is Format.GITHUB and pair.imported:
        from pairmark.cli.offences import Offences

        show(checked, format_, offences=Offences.of(pair.imported, options))
    else:
        show(checked, format_, label=pair.suite.manifest.version)
    return OF_VERDICT[checked.report.verdict]


def show(
    checked: CheckedPair, format_: Format, label: str | None = None, offences: Offences | None = None
) -> None:
    """Print a report; `label` is the suite version's label, and `offences` the files, which the report does not hold."""
    if format_ is Format.JSON:
        say_bytes(checked.content)
        return
    if format_ is Format.GITHUB:
        from pairmark.cli.github_report import annotation_lines

        say_all(annotation_lines(checked.value, offences))
        return
    from pairmark.cli.text_report import report_lines

    say_all(report_lines(checked.value, label))
