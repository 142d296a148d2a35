"""`pairmark doctor`: on a small trial run, before the expensive one."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pairmark.cli.console import clean, mark, say_all, say_bytes, styled, table, wrapped
from pairmark.cli.exit_codes import OK, REFUSED
from pairmark.cli.harness_input import Beside, find_reader, read_arm
from pairmark.cli.pair import DEFAULT_POLICY, PolicyName

if TYPE_CHECKING:
    from pairmark.app.doctor import Examination, FactFound
    from pairmark.importers.base import Imported, Importer

_STATES: Final = {
    "recorded": "recorded", "partly": "in some only", "missing": "missing", "declared": "not met in this trial", "unread": "not looked at",
}  # fmt: skip
_OUTLOOKS: Final = {
    "ready": ("ready", "good"),
    "weaker": ("proves less", "dim"),
    "beside": ("say it with --system", "warn"),
    "open": ("not shown", "warn"),
    "impossible": ("CANNOT BE PROVEN", "bad"),
    "contradicted": ("NOT THE PLANNED CELLS", "bad"),
}


class Format(StrEnum):
    """How an examination is shown."""

    TEXT = "text"
    JSON = "json"


def doctor(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="A harness' folders or logs of a few cells.")],
    suite: Annotated[
        Path | None,
        typer.Option("--suite", metavar="FILE", help="Suite manifest (JSON). Without it only the format is looked at."),
    ] = None,
    harness: Annotated[
        str | None, typer.Option("--harness", metavar="NAME", help="Whose files they are, where it has to be said.")
    ] = None,
    attack: Annotated[
        str | None, typer.Option("--attack", metavar="NAME", help="Which attack, where the files hold several.")
    ] = None,
    system: Annotated[
        Path | None, typer.Option("--system", metavar="FILE", help="JSON with what the harness does not record.")
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option("--mapping", metavar="FILE", help="YAML that says what the columns of the files mean.")
    ] = None,
    policy: PolicyName = DEFAULT_POLICY,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write what is left to say as a --system file to fill in."),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="text: tables; json: one object.")] = Format.TEXT,
) -> int:
    """Look at a trial run before the expensive one.

    Which reader takes it, what its log format records, and for each rule of the policy whether it can be satisfied so.
    Exit: 0 ready, 1 something is not recorded or cannot be proven, 2 malformed input or usage.
    """
    from pairmark.adapters.ledgers.bundle import read_policy, read_suite
    from pairmark.app.doctor import examine
    from pairmark.app.same_rows import refuse_same_rows
    from pairmark.domain.errors import Malformed
    from pairmark.importers.base import records_of

    rules = [rule.id for rule in read_policy(policy).policy.rules]
    importer = find_reader(paths, harness, mapping)
    arms: dict[str, Imported] = {}
    problems: dict[str, Malformed] = {}
    loaded = None if suite is None else read_suite(suite)
    if loaded is not None:
        for arm in ("benign", "attacked"):
            beside = Beside(attack=None if arm == "benign" else attack, system=system)
            try:
                arms[arm] = read_arm(importer, paths, arm, beside, loaded.manifest, loaded.digest)
            except Malformed as problem:
                problems[arm] = problem
        if len(arms) == 2:
            try:
                refuse_same_rows(arms["benign"], arms["attacked"])
            except Malformed as problem:
                problems["attacked"] = problem
                del arms["attacked"]
        if not arms:
            raise problems["attacked"] if attack is not None or problems["benign"].code == "not-benign" else problems["benign"]
    found = examine(arms, records_of(importer), rules, None if loaded is None else loaded.manifest)
    if output is not None:
        _write(output, found.system)
    if format_ is Format.JSON:
        from pairmark.domain.canonical import canonical_bytes

        say_bytes(canonical_bytes(_value(importer, found, arms, problems)))
    else:
        say_all(_lines(importer, found, arms, problems, output))
    return OK if found.ready and not problems else REFUSED


def _write(output: Path, system: Any) -> None:
    import json

    from pairmark.cli.whole_files import write_whole
    from pairmark.domain.errors import Malformed

    if output.exists():
        raise Malformed("exists", "expected a new file, found one", str(output), remedy="choose another name")
    write_whole(output, [(json.dumps(system, indent=2, ensure_ascii=False) + "\n").encode()])


def _value(importer: Importer, found: Examination, arms: dict[str, Imported], problems: dict[str, Any]) -> dict[str, Any]:
    return {
        "harness": importer.name,
        "ready": found.ready and not problems,
        "episodes": {arm: imported.episodes.height for arm, imported in arms.items()},
        "not_read": {arm: str(problem) for arm, problem in problems.items()},
        "cells": {
            each.arm: {
                "planned": each.planned, "present": each.present, "unknown_tasks": list(each.unknown_tasks),
                "unknown_injections": list(each.unknown_injections), "not_planned": each.off_plan, "repeated": each.repeated,
                "problems": list(each.problems),
            }
            for each in found.cells
        },
        "facts": [
            {
                "fact": each.fact, "state": each.state, "known": each.known, "of": each.of, "lacking": list(each.lacking),
                "format": None if each.declared is None else {"extent": each.declared.extent, "how": each.declared.how},
            }
            for each in found.facts
        ],
        "rules": [{"rule": each.rule, "outlook": each.outlook, "for_want_of": list(each.facts)} for each in found.rules],
        "remarks": list(found.remarks),
        "system": dict(found.system),
    }  # fmt: skip


def _lines(
    importer: Importer, found: Examination, arms: dict[str, Imported], problems: dict[str, Any], output: Path | None
) -> Iterator[str]:
    counted = ", ".join(f"{imported.episodes.height} {arm}" for arm, imported in arms.items())
    yield f"read by {clean(importer.name)} ({clean(importer.title)})" + (f": {counted} episodes" if counted else "")
    for arm, problem in problems.items():
        yield from wrapped(f"the {arm} arm was not read: {problem}", "  ")
    for cells in found.cells:
        yield f"  {cells.arm}: {cells.present} of {cells.planned} planned cells"
    for cells in found.cells:
        for said in cells.problems:
            yield from wrapped(said, "    ", f"  {mark('failed')} ")
    yield ""
    yield "what is recorded"
    yield from table([(f"  {each.fact}", _state(each), "" if each.declared is None else each.declared.how) for each in found.facts])
    yield ""
    yield "what each rule would find"
    longest = max((len(each.rule) for each in found.rules), default=0)
    for each in found.rules:
        words, style = _OUTLOOKS[each.outlook]
        want = f"  for want of {', '.join(each.facts)}" if each.facts else ""
        yield f"  {clean(each.rule):<{longest}}  {styled(words, style)}{want}"
    if found.remarks:
        yield ""
        for remark in found.remarks:
            yield from wrapped(remark, "  ", "- ")
    if found.system:
        yield ""
        yield from _left_to_say(found, output)
    yield ""
    if found.ready and not problems:
        yield styled("READY", "good")
        return
    why = "correct the cells first: the trial is not what the manifest plans" if any(each.problems for each in found.cells) else "see the rules that are not ready"
    yield f"{styled('NOT READY', 'bad')}: {why}"


def _state(each: FactFound) -> str:
    if each.lacking and each.state == "partly":
        return f"without {', '.join(each.lacking)}"
    counted = f" ({each.known} of {each.of})" if each.state == "partly" else ""
    return f"{_STATES[each.state]}{counted}"


def _left_to_say(found: Examination, output: Path | None) -> Iterator[str]:
    import json

    if output is not None:
        yield f"wrote {clean(output)}: fill it in, and give it with --system"
        return
    yield "left to say, in a file for --system (-o FILE writes it; a part that is left as it is is refused):"
    yield from (f"  {clean(line)}" for line in json.dumps(found.system, indent=2, ensure_ascii=False).splitlines())
