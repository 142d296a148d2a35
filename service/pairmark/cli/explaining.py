"""How files were understood: every column of the ledger, what it was read from, the values seen, and what stays unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pairmark.cli.console import clean, table, wrapped

if TYPE_CHECKING:
    from pairmark.importers.base import Imported, Importer, Understood

_COUNTED = ("status", "utility", "attack_success", "delivered", "attacker_actions", "served_model", "attempt", "epoch")
"""Columns whose values are shown where the importer itself says nothing of them."""

_NUMBERS = ("duration_ms", "attacker_actions")
_FEW = 5
"""Values up to which a column of numbers is listed: more are shown as a range. JSON lists them either way."""

_FACT_OF = {"status": "aborts", "attempt": "attempts", "epoch": "seeds"}


def explanation(importer: Importer, imported: Imported) -> dict[str, Any]:
    """The whole of it as a JSON object."""
    from pairmark.cli.import_ import unrecorded

    columns = [_column(each) for each in understood(importer, imported)]
    facts = [_column(each) for each in of_run(imported)]
    return {
        "harness": importer.name,
        "columns": columns,
        "unknown_columns": [each["target"] for each in columns if each["unknown"] == each["rows"]],
        **({"facts": facts} if facts else {}),
        "run": {key: imported.run[key] for key in ("arm", "attack", "system", "harness", "epochs")},
        "unrecorded": list(unrecorded(imported.run)),
        "set_aside": dict(imported.set_aside),
        "unreadable": [{"file": file.path, "reason": file.reason} for file in imported.unreadable],
        "notes": list(imported.notes),
    }


def understood(importer: Importer, imported: Imported) -> Iterator[Understood]:
    """What the importer says of each column; of the others, what the ledger shows and its format declares."""
    from pairmark.domain.episodes import EPISODE_SCHEMA
    from pairmark.importers.base import MOST_READINGS, Reading, Understood, records_of

    said = {each.target: each for each in imported.understood}
    records: Mapping[Any, Any] = {} if said else records_of(importer)
    for name in EPISODE_SCHEMA:
        if name in said:
            yield said[name]
            continue
        column = imported.episodes[name]
        recorded = records.get(_FACT_OF.get(name, name))
        readings: tuple[Reading, ...] = ()
        further = 0
        if name in _COUNTED:
            rows = column.value_counts(sort=True).sort("count", name, descending=[True, False]).rows()
            readings = tuple(Reading(_text(value), count, _text(value)) for value, count in rows[:MOST_READINGS] if value is not None)
            further = max(0, len(rows) - MOST_READINGS)
        yield Understood(name, None if recorded is None else recorded.how, len(column), column.null_count(), readings, further)


def of_run(imported: Imported) -> Iterator[Understood]:
    """What the importer says of keys of the run document."""
    from pairmark.domain.episodes import EPISODE_SCHEMA

    return (each for each in imported.understood if each.target not in EPISODE_SCHEMA)


def explanation_lines(importer: Importer, imported: Imported) -> Iterator[str]:
    """The whole of it for people."""
    yield f"how the files were understood, by the reader {clean(importer.name)}:"
    nothing: list[str] = []
    for each in understood(importer, imported):
        if each.unknown == each.rows and not each.readings:
            nothing.append(each.target)
            continue
        source = "" if each.source is None else f" from {each.source}"
        unknown = f"; unknown in {each.unknown} of {each.rows} rows" if each.unknown else ""
        yield from wrapped(f"{each.target}{source}{unknown}", "      ", "  ")
        if each.target in _NUMBERS and (span := _span(each)) is not None:
            yield f"      {span}"
            continue
        rows = [(f"      {reading.value}", f"{reading.rows}", _became(reading.value, reading.meaning)) for reading in each.readings]
        yield from table(rows, right=frozenset({1}))
        if each.further:
            yield f"      … and {each.further} further values"
    if nothing:
        yield from wrapped(f"{', '.join(nothing)}", "      ", "  unknown in every row: ")
    for number, each in enumerate(of_run(imported)):
        if number == 0:
            yield "what was found of the run:"
        source = "" if each.source is None else f" from {each.source}"
        value = ", ".join(reading.value for reading in each.readings)
        yield from wrapped(f"{each.target}{source}: {value or 'unknown'}", "      ", "  ")


def _span(each: Understood) -> str | None:
    """The range of a column of numbers, over the values that are listed; null where it has few, or some that are none."""
    if len(each.readings) <= _FEW or any(reading.meaning is None for reading in each.readings):
        return None
    try:
        numbers = sorted((float(reading.value), reading.value) for reading in each.readings)
    except ValueError:
        return None
    among = f" among the {len(numbers)} most frequent of {len(numbers) + each.further} values" if each.further else f", {len(numbers)} values"
    return f"{numbers[0][1]} to {numbers[-1][1]}{among}"


def _became(value: str, meaning: str | None) -> str:
    if meaning is None:
        return "unknown"
    return "" if value in (meaning, f'"{meaning}"') else f"→ {meaning}"


def _column(each: Understood) -> dict[str, Any]:
    readings = [{"value": reading.value, "rows": reading.rows, "meaning": reading.meaning} for reading in each.readings]
    return {
        "target": each.target, "source": each.source, "rows": each.rows, "unknown": each.unknown, "readings": readings,
        "further_values": each.further,
    }  # fmt: skip


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
