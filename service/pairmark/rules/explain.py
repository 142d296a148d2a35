"""What `pairmark rules list` and `pairmark rules explain ID` say, from the rules themselves."""

from __future__ import annotations

from typing import Any

from pairmark.domain.errors import NotFound, shown
from pairmark.rules.base import Rule
from pairmark.rules.registry import installed_rules


def rule_rows() -> list[dict[str, Any]]:
    """One row per installed rule, by id and version: `id`, `version`, `title`."""
    return [{"id": rule.id, "version": rule.version, "title": rule.title} for rule in _sorted()]


def explain_rule(rule_id: str) -> list[dict[str, Any]]:
    """Everything about a rule, one entry per installed version, ascending; `params` is a JSON Schema.

    Raises:
        NotFound: no installed rule has this id.
    """
    found = [rule for rule in _sorted() if rule.id == rule_id]
    if not found:
        raise NotFound(
            "unknown-rule", f"expected an installed rule, found {shown(rule_id)}", "pairmark rules list shows them"
        )
    return [
        {
            "id": rule.id,
            "version": rule.version,
            "title": rule.title,
            "why": rule.why,
            "source": rule.source,
            "remedy": rule.remedy,
            "params": rule.params.model_json_schema(),
        }
        for rule in found
    ]


def list_text() -> str:
    """A line per rule: id, version, title."""
    rows = rule_rows()
    width = max(len(f"{row['id']}/{row['version']}") for row in rows)
    return "".join(f"{row['id']}/{row['version']:<{width - len(row['id']) - 1}}  {row['title']}\n" for row in rows)


def explain_text(rule_id: str) -> str:
    """The same as `explain_rule`, for a person. Raises NotFound likewise."""
    return "\n".join(_text(entry) for entry in explain_rule(rule_id))


def _text(entry: dict[str, Any]) -> str:
    parts = [
        f"{entry['id']}/{entry['version']}: {entry['title']}",
        "",
        f"  why      {entry['why']}",
        f"  source   {entry['source']}",
        f"  remedy   {entry['remedy']}",
    ]
    properties: dict[str, Any] = entry["params"].get("properties", {})
    parts += [f"  param    {name} ({_range(schema)})" for name, schema in properties.items()]
    return "\n".join(parts) + "\n"


def _range(schema: dict[str, Any]) -> str:
    ends = [
        (schema.get("minimum"), "at least"),
        (schema.get("exclusiveMinimum"), "above"),
        (schema.get("maximum"), "at most"),
        (schema.get("exclusiveMaximum"), "below"),
    ]
    limits = [f"{word} {end:g}" for end, word in ends if end is not None and end < 2**53 - 1]
    return ", ".join([schema["type"], *limits])


def _sorted() -> list[Rule]:
    return [installed_rules()[key] for key in sorted(installed_rules())]
