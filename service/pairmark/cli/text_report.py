"""A report for people: a checklist, one line a rule, those that did not pass opened; the cells; the numbers if certified."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pairmark.cli.console import clean, mark, styled, table, wrapped
from pairmark.cli.figures import figure_lines

CELLS_SHOWN: Final = 5
_WORDS: Final = {
    "passed": "passed",
    "failed": "FAILED",
    "held": "HELD",
    "not_applicable": "not applicable",
    "crashed": "CRASHED",
}
_STYLE: Final = {"passed": "good", "failed": "bad", "held": "warn", "not_applicable": "dim", "crashed": "bad"}
_VERDICT_STYLE: Final = {"certified": "good", "refused": "bad", "quarantined": "warn"}
_MEANS: Final = {
    "certified": "the two arms are the same experiment and the injections arrived; the numbers are released",
    "refused": "a rule failed, so no numbers are certified",
    "quarantined": "held until a reviewer disproves what is suspicious, so no numbers are certified",
}


def report_lines(report: Mapping[str, Any], label: str | None = None) -> Iterator[str]:
    """A whole report."""
    yield from heading_lines(report, label)
    yield ""
    yield from checklist_lines(report["findings"])
    yield ""
    yield from count_lines(report["counts"])
    if report["metrics"] is not None:
        yield ""
        yield from figure_lines(report["metrics"])
    yield ""
    yield verdict_line(report)


def verdict_line(report: Mapping[str, Any]) -> str:
    """The verdict, what it means, and the flags it carries."""
    verdict = report["verdict"]
    flags = f"; flags: {', '.join(map(clean, report['flags']))}" if report["flags"] else ""
    return f"{styled(verdict.upper(), _VERDICT_STYLE[verdict])}: {_MEANS[verdict]}{flags}"


def heading_lines(report: Mapping[str, Any], label: str | None) -> Iterator[str]:
    """What was judged, by which policy."""
    policy, suite, runs = report["policy"], report["suite"], report["runs"]
    rows = [
        ("suite", f"{suite['name']} {label or ''}".strip(), suite["digest"]),
        ("policy", f"{policy['name']}/{policy['version']}", policy["digest"]),
    ]
    rows += [(role, _cells_of(report["counts"][role]), runs[role] or "") for role in ("benign", "attacked", "baseline")]
    if runs["baseline"] is not None and runs["baseline"] == runs["attacked"]:
        rows[-1] = ("baseline", "the attacked run, which has no defenses", "")
    yield from table(rows)


def _cells_of(counts: Mapping[str, int] | None) -> str:
    return "none" if counts is None else f"{counts['present']} of {counts['planned']} cells"


def checklist_lines(findings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each rule in the policy's order; a rule that did not pass is opened below its line."""
    longest = max((len(finding["rule"]) for finding in findings), default=0)
    for finding in findings:
        outcome = finding["outcome"]
        sign = styled(f"{mark(outcome)} {_WORDS[outcome]:<14}", _STYLE[outcome])
        rule = clean(finding["rule"])
        if outcome in ("passed", "not_applicable"):
            yield f"{sign}  {rule:<{longest}}  {clean(finding['message'])}"
            continue
        yield f"{sign}  {styled(rule, 'bold')}"
        yield from _opened(finding)
    if not findings:
        yield "the policy has no rules, and a policy without rules refuses everything"


def _opened(finding: Mapping[str, Any]) -> Iterator[str]:
    message, remedy = finding["message"], _remedy_of(finding["rule"])
    said = message
    if finding["outcome"] != "crashed" and remedy is not None and f"; {remedy}" in message:
        said, _, of_what = message.rpartition(f"; {remedy}")
        remedy += _few(of_what)  # which cells
    elif finding["outcome"] == "failed" and "; found " in message:
        said, _, remedy = message.rpartition("; ")  # the rule says what fits what it found
    for part in said.split("; "):
        yield from wrapped(part, "      ", "    ")
    for path, total, cells in _lists((), finding["evidence"]):
        if all(str(cell) in message for cell in cells[:CELLS_SHOWN]):
            continue  # the message has said so
        shown = "; ".join(map(clean, cells[:CELLS_SHOWN]))
        more = f"; … ({total} in all)" if total > len(cells[:CELLS_SHOWN]) else ""
        yield from wrapped(f"{path}: {shown}{more}", "      ", "    ")
    if finding["outcome"] != "crashed" and remedy is not None:
        yield from wrapped(f"What to do: {remedy}.", "      ", "    ")


def _few(of_what: str) -> str:
    """The first of the cells that a remedy names, and how many more; the report itself keeps them all."""
    head, more, count = of_what.rpartition(" and ")
    further = int(count.removesuffix(" more")) if more and count.endswith(" more") and count.removesuffix(" more").isdigit() else 0
    names = re.split(r"(?<=\)), ", head if further else of_what)
    if len(names) <= CELLS_SHOWN:
        return of_what
    return f"{', '.join(names[:CELLS_SHOWN])} and {len(names) - CELLS_SHOWN + further} more"


def _remedy_of(rule_id: str) -> str | None:
    from pairmark.rules.registry import installed_rules

    return next((rule.remedy for (name, _), rule in installed_rules().items() if name == rule_id), None)


def _lists(path: tuple[str, ...], evidence: Any) -> Iterator[tuple[str, int, Sequence[Any]]]:
    """Lists of plain values in the evidence, with the count that stands beside them where there is one."""
    if not isinstance(evidence, Mapping):
        return
    for key, value in evidence.items():
        if isinstance(value, Sequence) and not isinstance(value, str) and value:
            if not any(isinstance(item, Mapping | list | tuple) for item in value):
                count = evidence.get("count", evidence.get("out_of_place"))
                named = path if key in ("cells", "first", "tasks") and path else (*path, key)
                yield " ".join(named).replace("_", " "), count if isinstance(count, int) else len(value), value
        else:
            yield from _lists((*path, key), value)


def count_lines(counts: Mapping[str, Mapping[str, int] | None]) -> Iterator[str]:
    """The table of cells by arm."""
    columns = ("planned", "present", "assessed", "aborted", "blocked")
    rows = [("cells", *columns)]
    for role in ("benign", "attacked", "baseline"):
        arm = counts[role]
        rows.append((role, *(("none", "", "", "", "") if arm is None else (str(arm[name]) for name in columns))))
    yield from table(rows, right=frozenset(range(1, 6)))
