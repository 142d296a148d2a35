"""`pairmark rules list` and `explain` say what the rules say of themselves."""

from __future__ import annotations

import pytest

from pairmark.domain.errors import NotFound
from pairmark.rules.explain import explain_rule, explain_text, list_text, rule_rows
from pairmark.rules.registry import installed_rules


def test_the_list_has_a_line_for_every_rule() -> None:
    lines = list_text().splitlines()
    assert len(lines) == len(installed_rules()) == len(rule_rows())
    for line, row in zip(lines, rule_rows(), strict=True):
        assert line.startswith(f"{row['id']}/{row['version']}  ")
        assert line.endswith(row["title"])
    assert len({line.index("  ") for line in lines}) > 1
    assert len({len(line) - len(row["title"]) for line, row in zip(lines, rule_rows(), strict=True)}) == 1


@pytest.mark.parametrize("rule_id", [rule for rule, _ in installed_rules()])
def test_an_explanation_holds_everything(rule_id: str) -> None:
    text = explain_text(rule_id)
    rule = installed_rules()[(rule_id, 1)]
    for part in (rule.id, rule.title, rule.why, rule.source, rule.remedy, *rule.params.model_fields):
        assert part in text


def test_parameters_are_explained_with_their_range() -> None:
    assert "max_gap (number, at least 0, at most 1)" in explain_text("aborts-within-limits")
    assert "alpha (number, above 0, below 1)" in explain_text("sign-plausible")
    assert explain_rule("baseline-delivery")[0]["params"]["properties"]["min_action_cells"]["minimum"] == 0


def test_an_unknown_rule_is_not_found() -> None:
    with pytest.raises(NotFound, match="pairmark rules list"):
        explain_text("sign-plausibel")
