"""The quality gate: Great Expectations over one ledger, counted a second time in polars, and projected to our own stable result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from pairmark.adapters.quality.errors import QualityGateFault
from pairmark.adapters.quality.suite_file import Expectation, ExpectationSuite, ledger_expectations
from pairmark.adapters.quality.validation import Counted, validate
from pairmark.domain.errors import one_line
from pairmark.domain.evidence import Arm
from pairmark.domain.quality import ExpectationResult, QualityResult
from pairmark.rules.base import FIRST_CELLS, QualityGate
from pairmark.rules.cell_names import cell_name

_ROW = ("task_id", "injection_id", "epoch", "attempt")


def great_expectations_gate(suite: ExpectationSuite | None = None) -> QualityGate:
    """A gate that holds ledgers to `suite`, by default to the one that ships with Pairmark.

    Making it is cheap; the library is imported by the first ledger. It may be called from several threads at once.

    Raises:
        Malformed: the shipped suite file is damaged.
    """
    return _Gate(ledger_expectations() if suite is None else suite)


@dataclass(frozen=True)
class _Gate:
    suite: ExpectationSuite

    def __call__(self, arm: Arm) -> QualityResult:
        return judge_ledger(arm.ledger, self.suite)


def judge_ledger(ledger: pl.DataFrame, suite: ExpectationSuite) -> QualityResult:
    """Whether a ledger in canonical order holds every expectation; a ledger without rows never does.

    Raises:
        QualityGateFault: Great Expectations lost, failed or miscounted an expectation.
    """
    counted = validate(ledger, suite)
    recounted = recount(ledger, suite)
    for expectation in suite.expectations:
        _reconcile(expectation, counted[expectation.code], recounted[expectation.code])
    results = tuple(_projected(ledger, expectation, recounted[expectation.code]) for expectation in suite.expectations)
    return QualityResult(
        suite=suite.name,
        digest=suite.digest,
        rows=ledger.height,
        success=ledger.height > 0 and all(result.success for result in results),
        expectations=results,
    )


def recount(ledger: pl.DataFrame, suite: ExpectationSuite) -> dict[str, Counted]:
    """What every expectation should find, from polars alone."""
    expressions: list[pl.Expr] = []
    for expectation in suite.expectations:
        expressions.append(_considered(expectation).sum().alias(f"{expectation.code} rows"))
        if expectation.kind.unexpected is not None:
            expressions.append(_breaking(expectation).sum().alias(f"{expectation.code} unexpected"))
    counts = ledger.with_columns(_every_row=pl.lit(True)).select(expressions).row(0, named=True)
    return {each.code: _expected_count(each, counts) for each in suite.expectations}


def _expected_count(expectation: Expectation, counts: dict[str, int]) -> Counted:
    rows = counts[f"{expectation.code} rows"]
    if expectation.kind.unexpected is None:
        lowest, highest = expectation.arguments.min_value, expectation.arguments.max_value
        return Counted((lowest is None or rows >= lowest) and (highest is None or rows <= highest), rows, None)
    unexpected = counts[f"{expectation.code} unexpected"]
    return Counted(unexpected == 0, rows, unexpected)


def _considered(expectation: Expectation) -> pl.Expr:
    return pl.col("_every_row") if expectation.condition is None else expectation.condition.holds()


def _breaking(expectation: Expectation) -> pl.Expr:
    if expectation.kind.unexpected is None:
        raise ValueError(f"expected an expectation about rows, found {expectation.type}")
    unexpected = expectation.kind.unexpected(expectation.arguments).fill_null(False)
    return unexpected if expectation.condition is None else unexpected & expectation.condition.holds()


def _reconcile(expectation: Expectation, counted: Counted, recounted: Counted) -> None:
    if counted != recounted:
        raise QualityGateFault(
            "counts-disagree",
            f"expected {expectation.code} to be {_words(recounted)} as counted apart, found {_words(counted)} by Great Expectations",
        )


def _words(counted: Counted) -> str:
    broken = "" if counted.unexpected is None else f"{counted.unexpected} of "
    return f"{'kept' if counted.success else 'broken'} ({broken}{counted.rows} rows)"


def _projected(ledger: pl.DataFrame, expectation: Expectation, counted: Counted) -> ExpectationResult:
    arguments = dict(expectation.declared.arguments)
    if expectation.declared.row_condition is not None:
        arguments["row_condition"] = expectation.declared.row_condition
    unexpected = counted.unexpected
    return ExpectationResult(
        code=expectation.code,
        expectation=expectation.type,
        arguments=arguments,
        # Over no rows at all nothing was shown, unless a condition left them out.
        success=counted.success and (ledger.height > 0),
        rows=counted.rows,
        unexpected=0 if unexpected is None else unexpected,
        first=() if not unexpected else _first(ledger, expectation),
    )


def _first(ledger: pl.DataFrame, expectation: Expectation) -> tuple[str, ...]:
    """The first rows that break it, in the ledger's canonical order: which line, and what stands there."""
    looked_at = sorted(expectation.columns - set(_ROW), key=ledger.columns.index)
    shown_columns = [*_ROW, *(pl.col(name).alias(f"at {name}") for name in looked_at)]
    picked = ledger.lazy().filter(_breaking(expectation)).head(FIRST_CELLS).select(shown_columns).collect()
    return tuple(_line_text(row, looked_at) for row in picked.iter_rows(named=True))


def _line_text(row: dict[str, Any], looked_at: list[str]) -> str:
    # Any of these may be null here: that may be what is wrong with the line.
    where = cell_name(_value_text(row["task_id"]), row["injection_id"], row["epoch"])
    stands = "".join(f", {name} {_value_text(row[f'at {name}'])}" for name in looked_at)
    return one_line(f"{where}, attempt {_value_text(row['attempt'])}{stands}")


def _value_text(value: object) -> str:
    """A value in JSON's words, one line, at most 80 characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return one_line(str(value), 80)
