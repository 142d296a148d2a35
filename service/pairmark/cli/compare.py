"""`pairmark compare`: certified pairs side by side, cell by cell."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pairmark.cli.console import say_all, say_bytes
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK, REFUSED
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl

if TYPE_CHECKING:
    from pairmark.app.comparison.pair import CertifiedPair
    from pairmark.domain.documents.comparison import Comparison, ComparisonSet


class Format(StrEnum):
    """How a comparison is shown."""

    TEXT = "text"
    JSON = "json"


class Reweight(StrEnum):
    """What to do where the suites differ."""

    COMMON = "common"


def compare(
    left: Annotated[str, typer.Argument(metavar="A", help="Certificate id, or the folder of a pair.")],
    others: Annotated[
        list[str], typer.Argument(metavar="B...", help="Another; of several, each is compared with A (Holm).")
    ],
    reweight: Annotated[
        Reweight | None,
        typer.Option(
            "--reweight", help="Where the suites differ: on the cells in common, or with groups weighed alike."
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", metavar="NAME/VERSION|FILE", help="For folders: what must hold for `certified`.")
    ] = "standard/1",
    format_: Annotated[Format, typer.Option("--format", help="text: for people; json: the answer.")] = Format.TEXT,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Compare certified pairs on the same cells. What changed from A to B, with intervals, flips, and `tied`.

    A and B are certificate ids, or folders that hold suite.json, benign/, attacked/ and, for a defended pair, baseline/.
    Exit: 1 if they do not compare, with what differs and what does compare.
    """
    from pairmark.app.comparison.refusals import NotComparable
    from pairmark.client import ProblemError

    try:
        found = _found(left, others, None if reweight is None else reweight.value, policy, service, data)
    except NotComparable as refused:
        if format_ is Format.TEXT:
            _explain(refused.extensions)
        raise
    except ProblemError as refused:
        if format_ is Format.TEXT and refused.problem.differing is not None:
            _explain(refused.problem.model_dump(mode="json"))
            from pairmark.cli.console import complain

            complain(f"pairmark: {refused}")
            return REFUSED
        raise
    if format_ is Format.JSON:
        from pairmark.domain.canonical import canonical_bytes

        say_bytes(canonical_bytes(found.model_dump(mode="json", by_alias=True)))
        return OK
    from pairmark.cli.compare_text import comparison_lines

    for number, comparison in enumerate(getattr(found, "comparisons", (found,))):
        if number:
            say_all([""])
        say_all(comparison_lines(comparison.model_dump(mode="json")))
    return OK


def _found(
    left: str, others: list[str], reweight: str | None, policy: str, service: str, data: Path | None
) -> Comparison | ComparisonSet:
    from pairmark.domain.errors import Malformed

    for one in (left, *others):
        if "/" in one and not Path(one).is_dir():  # no id has a slash
            raise Malformed(
                "not-a-folder", "expected the folder of a pair, found none", file=one, remedy="check the path"
            )
    folders = [Path(one) for one in (left, *others) if Path(one).is_dir()]
    if not folders:
        with client_at(service, data) as client:
            return client.compare(left, others, reweight=reweight).model
    if len(folders) <= len(others):
        raise Malformed(
            "usage",
            "expected certificate ids or folders, found both",
            remedy="submit the pairs first, or give folders only",
        )
    from pairmark.app.comparison.compare import compare as compare_pairs
    from pairmark.app.comparison.compare import compare_several

    first, *rest = (_pair_in(folder, policy) for folder in folders)
    kind: Literal["common"] | None = "common" if reweight == "common" else None
    return compare_pairs(first, rest[0], kind) if len(rest) == 1 else compare_several(first, rest, kind)


def _pair_in(folder: Path, policy: str) -> CertifiedPair:
    """The pair in a folder, judged here and now.

    Raises:
        Conflict: it is not certified.
        Malformed: something in it cannot be read.
    """
    from pairmark.adapters.quality.gate import great_expectations_gate
    from pairmark.app.check import check
    from pairmark.app.comparison.pair import CertifiedPair
    from pairmark.cli.pair import read_pair
    from pairmark.domain.errors import Conflict

    baseline = folder / "baseline"
    pair = read_pair(
        folder / "suite.json", folder / "benign", folder / "attacked", baseline if baseline.is_dir() else None, policy
    )
    report = check(pair.experiment, pair.policy.policy, pair.policy.digest, great_expectations_gate()).report
    if report.verdict != "certified":
        raise Conflict(
            "not-certified",
            f"expected a certified pair in {folder}, found it {report.verdict}",
            "see why with `pairmark check`",
        )
    return CertifiedPair(pair.experiment, report)


def _explain(refusal: object) -> None:
    from pairmark.cli.compare_text import refusal_lines

    say_all(refusal_lines(refusal))
