"""`pairmark tally`: the figures of any pair, marked as not certified."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pairmark.cli.console import say, say_all, say_bytes, styled
from pairmark.cli.exit_codes import OK
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

HEADING = "UNCERTIFIED"


class Format(StrEnum):
    """How a tally is shown."""

    TEXT = "text"
    JSON = "json"


def tally(
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
    format_: Annotated[Format, typer.Option("--format", help="text: tables; json: one object.")] = Format.TEXT,
) -> int:
    """Show the figures of an uncertified pair. They stand under the heading UNCERTIFIED, for finding what is wrong.

    They are never stored or signed; only `check` and the service certify. Exit: 0 whatever the verdict, 2 malformed input.
    """
    from pairmark.adapters.quality.gate import great_expectations_gate
    from pairmark.app.check import tally as count

    options = harness_options(harness=harness, attack=attack, system=system, epoch=epoch, mapping=mapping)
    pair = read_pair(suite, benign, attacked, baseline, policy, options)
    counted = count(pair.experiment, pair.policy.policy, pair.policy.digest, great_expectations_gate())
    report = counted.checked.value
    if format_ is Format.JSON:
        from pairmark.domain.canonical import canonical_bytes

        say_bytes(canonical_bytes(_value(report, counted.metrics, list(counted.flags))))
        return OK
    from pairmark.cli.figures import figure_lines
    from pairmark.cli.text_report import checklist_lines, count_lines, heading_lines

    say(styled(f"{HEADING}: figures for finding a fault; they must not be published as Pairmark's.", "warn"))
    say()
    say_all(heading_lines(report, pair.suite.manifest.version))
    say()
    say_all(count_lines(report["counts"]))
    say()
    say_all(figure_lines(counted.metrics))
    if counted.flags:
        say(f"flags: {', '.join(counted.flags)}")
    say()
    say_all(
        checklist_lines(
            [finding for finding in report["findings"] if finding["outcome"] not in ("passed", "not_applicable")]
        )
    )
    say(f"{HEADING}: `pairmark check` gives this pair the verdict {report['verdict']}.")
    return OK


def _value(report: dict[str, Any], metrics: dict[str, Any], flags: list[str]) -> dict[str, Any]:
    """What `--format json` prints: the report without its claim, and the figures."""
    kept = {key: report[key] for key in ("policy", "suite", "runs", "findings", "counts")}
    return {"heading": HEADING, "verdict_of_check": report["verdict"], **kept, "flags": flags, "metrics": metrics}
