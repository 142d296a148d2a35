"""A report as annotations of a GitHub workflow (workflow commands on standard output)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pairmark.cli.console import clean
from pairmark.domain.errors import Malformed

if TYPE_CHECKING:
    from pairmark.cli.offences import Offences

MOST_FILES: Final = 10
"""Unreadable files that are annotated: a step shows no more of a kind."""

_LEVEL: Final = {"failed": "error", "crashed": "error", "held": "warning"}
_OF_VERDICT: Final = {"certified": "notice", "quarantined": "warning", "refused": "error"}


def annotation_lines(report: dict[str, Any], offences: Offences | None = None) -> Iterator[str]:
    """One annotation for each rule that did not pass, one for each flag, and one for the verdict.

    With `offences` a finding stands at the first file it is about, and every file that could not be read is named.
    """
    for file, reason in () if offences is None else offences.unreadable[:MOST_FILES]:
        yield command("warning", clean(reason), file=clean(file), title="pairmark: unreadable")
    for finding in report["findings"]:
        level = _LEVEL.get(finding["outcome"])
        if level is not None:
            place = None if offences is None else offences.file_of(finding)
            yield command(
                level,
                clean(finding["message"]),
                file=None if place is None else clean(place),
                title=f"pairmark: {clean(finding['rule'])} {finding['outcome']}",
            )
    for flag in report["flags"]:
        yield command("notice", f"the report carries the flag {clean(flag)}", title=f"pairmark: {clean(flag)}")
    passed = sum(finding["outcome"] == "passed" for finding in report["findings"])
    verdict = report["verdict"]
    policy = clean(f"{report['policy']['name']}/{report['policy']['version']}")
    yield command(
        _OF_VERDICT[verdict],
        f"{verdict} by {policy}: {passed} of {len(report['findings'])} rules passed for {clean(report['suite']['name'])}",
        title=f"pairmark: {verdict}",
    )


def malformed_annotation(problem: Malformed) -> str:
    """Input that could not be read, at its file and line."""
    places = {
        "file": None if problem.file is None else clean(problem.file),
        "line": None if problem.line is None else str(problem.line),
    }
    return command("error", str(problem), title=f"pairmark: {problem.code}", **places)


def command(name: str, message: str, **properties: str | None) -> str:
    """A workflow command. In properties `:` and `,` would end a value; in both, line ends would end the command."""
    given = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items() if value is not None)
    return f"::{name} {given}::{_escape(message)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
