"""One validation of one ledger by Great Expectations. Nothing but this module imports it, or pandas; both only when called.

The library is not safe on several threads when a context, data source or batch definition is shared, so every validation makes its
own and drops it afterwards. Its results come in another order than declared, may lack expectations it could not load, and have a
format of their own; what leaves this module is plain counts by expectation code, complete or not at all.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pairmark.adapters.quality.errors import QualityGateFault
from pairmark.adapters.quality.kinds import RowCondition
from pairmark.adapters.quality.suite_file import Expectation, ExpectationSuite

_first_import = threading.Lock()
_BOUNDED = {"result_format": "BASIC", "partial_unexpected_count": 0}
"""Counts only: row indexes and value lists grow with the data, and cost more than the validation."""

_LARGE = 100_000
"""Rows from which the frame is collected at once: the library's objects refer to each other in circles, and would keep it."""


@dataclass(frozen=True)
class Counted:
    """What one expectation found: whether it held, over how many rows, and how many of them broke it (None: not about rows)."""

    success: bool
    rows: int
    unexpected: int | None


def validate(ledger: pl.DataFrame, suite: ExpectationSuite) -> dict[str, Counted]:
    """Great Expectations' answer to every expectation, by code.

    Raises:
        QualityGateFault: an expectation was dropped, or raised inside the library.
    """
    try:
        return _answers(ledger, suite)
    finally:
        if ledger.height > _LARGE:
            gc.collect()


def _answers(ledger: pl.DataFrame, suite: ExpectationSuite) -> dict[str, Counted]:
    gx, context = _fresh_context()
    declared = [_library_form(expectation) for expectation in suite.expectations]
    loaded = gx.ExpectationSuite(name=suite.name, expectations=declared)
    _compare("loaded", suite, [_code_of(each.meta) for each in loaded.expectations])

    source = context.data_sources.add_pandas(name="ledger")
    try:
        definition = source.add_dataframe_asset(name="ledger").add_batch_definition_whole_dataframe("ledger")
        batch = definition.get_batch(batch_parameters={"dataframe": _pandas_frame(ledger, suite)})
        results = batch.validate(loaded, result_format=dict(_BOUNDED)).results
    finally:
        # The library remembers its latest context for good; without this it would keep the latest ledger with it.
        context.data_sources.delete("ledger")
    _compare("answered", suite, [_code_of(result.expectation_config.meta) for result in results])
    by_code = {_code_of(result.expectation_config.meta): result for result in results}
    return {expectation.code: _counted(expectation, by_code[expectation.code]) for expectation in suite.expectations}


def _fresh_context() -> tuple[Any, Any]:
    """The library, and a context in memory that belongs to this validation: no files, no progress bars, nothing sent home."""
    with _first_import:  # its modules import each other in circles; two threads at once could see half of one
        import great_expectations as gx
        from great_expectations.data_context.types.base import (
            DataContextConfig,
            InMemoryStoreBackendDefaults,
            ProgressBarsConfig,
        )
    settings = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False),
    )
    return gx, gx.get_context(mode="ephemeral", project_config=settings)


def _pandas_frame(ledger: pl.DataFrame, suite: ExpectationSuite) -> Any:
    """The columns that the suite looks at, as pandas.

    Numbers with nulls become doubles there, exact up to 2^53 as ledgers are; what they are compared with is at most that too.
    """
    wanted = frozenset().union(*(expectation.columns for expectation in suite.expectations))
    kept = [name for name in ledger.columns if name in wanted] or ledger.columns[:1]
    return ledger.select(kept).to_pandas()


def _library_form(expectation: Expectation) -> dict[str, Any]:
    arguments = expectation.arguments.model_dump(mode="json", exclude_none=True)
    if expectation.condition is not None:
        arguments["row_condition"] = _library_condition(expectation.condition)
    return {"type": expectation.type, "kwargs": arguments, "meta": {"code": expectation.code}}


def _library_condition(condition: RowCondition) -> dict[str, Any]:
    column = {"name": condition.column}
    if condition.is_in is not None:
        return _any_of([{"type": "comparison", "column": column, "operator": "==", "parameter": each} for each in condition.is_in])
    return {"type": "nullity", "column": column, "is_null": condition.is_null}


def _any_of(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return conditions[0] if len(conditions) == 1 else {"type": "or", "conditions": conditions}


def _code_of(meta: Any) -> str:
    return str((meta or {}).get("code"))


def _compare(what: str, suite: ExpectationSuite, codes: Sequence[str]) -> None:
    """Every declared expectation, each once, and nothing else."""
    declared = sorted(expectation.code for expectation in suite.expectations)
    if sorted(codes) != declared:
        lost = sorted(set(declared) - set(codes))
        raise QualityGateFault(
            "expectation-dropped",
            f"expected the {len(declared)} expectations of {suite.name} to be {what}, found {len(codes)}"
            + (f" (without {', '.join(lost)})" if lost else ""),
        )


def _counted(expectation: Expectation, result: Any) -> Counted:
    found = result.result or {}
    rows, unexpected = found.get("element_count"), found.get("unexpected_count")
    if expectation.kind.unexpected is None:
        rows, unexpected = found.get("observed_value"), None
    if type(rows) is not int or (expectation.kind.unexpected is not None and type(unexpected) is not int):
        raise QualityGateFault(
            "expectation-crashed",
            f"expected counts from {expectation.code} ({expectation.type}), found none: {str(result.exception_info)[-500:]}",
        )
    return Counted(result.success is True, rows, unexpected)
