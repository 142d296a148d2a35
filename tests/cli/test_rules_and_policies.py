"""`pairmark rules` and `pairmark policy`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairmark.adapters.ledgers.documents import read_policy, shipped_policies
from pairmark.cli.rule_index import Declared, _declared_in, declared_rules
from pairmark.rules.registry import installed_rules
from tests.cli.running import Here, is_one_line


def test_the_list_is_the_registry(here: Here) -> None:
    assert declared_rules() == sorted(
        Declared(rule.id, rule.version, rule.title) for rule in installed_rules().values()
    )
    done = here("rules", "list")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == sorted(
        f"{name}/{version}" for name, version in installed_rules()
    )


def test_a_rule_that_computes_its_title_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rule.py"
    file.write_text('RULE = Rule(id="a", version=1, title="x".upper())', encoding="utf-8")
    with pytest.raises(ValueError, match="malformed node"):
        _declared_in(file)


@pytest.mark.parametrize("rule", sorted({name for name, _ in installed_rules()}))
def test_every_rule_is_explained(here: Here, rule: str) -> None:
    done = here("rules", "explain", rule)
    assert done.code == 0
    said = " ".join(done.out.split())
    known = next(each for (name, _), each in installed_rules().items() if name == rule)
    for text in (
        known.title,
        known.why,
        known.source,
        known.remedy,
        "In standard/1:",
        "In transcript/1:",
        *known.params.model_fields,
    ):
        assert " ".join(text.split()) in said
    assert here("rules", "explain", f"{rule}/1") == done


def test_an_unknown_rule(here: Here) -> None:
    for name in ("tools", "tools-match/2", "", "\u202e"):
        done = here("rules", "explain", name)
        assert done.code == 2
        assert is_one_line(done.err)


def test_policies(here: Here, tmp_path: Path) -> None:
    listed = here("policy", "list").out.splitlines()
    assert [line.split()[0] for line in listed] == sorted(shipped_policies())
    for name in shipped_policies():
        loaded = read_policy(name)
        shown = here("policy", "show", name).out
        assert shown.startswith(f"{name}  {loaded.digest}\n")
        for rule in loaded.policy.rules:
            assert f"  {rule.id}/{rule.version}" in shown
    assert "min_delivered_share = 0.8" in here("policy", "show", "transcript/1").out
    assert here("policy", "show", tmp_path / "none.json").code == 2
