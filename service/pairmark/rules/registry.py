"""The installed rules by id and version."""

from __future__ import annotations

from functools import cache

import pairmark.rules
from pairmark.domain.discovery import discover
from pairmark.domain.documents.policy import Policy, PolicyRule
from pairmark.domain.errors import Malformed
from pairmark.rules.base import Rule


@cache
def installed_rules() -> dict[tuple[str, int], Rule]:
    """Every rule found, by (id, version)."""
    found: dict[tuple[str, int], Rule] = {}
    for plugin in discover(pairmark.rules, "RULE"):
        if not isinstance(plugin, Rule):
            raise TypeError(f"expected RULE to be a Rule, found {plugin!r}")
        if (plugin.id, plugin.version) in found:
            raise ValueError(f"two rules are called {plugin.id}/{plugin.version}")
        found[(plugin.id, plugin.version)] = plugin
    return found


def rule_of(entry: PolicyRule, pointer: str = "") -> Rule:
    """The rule a policy entry names.

    Raises:
        Malformed: no such rule, or no such version of it.
    """
    rule = installed_rules().get((entry.id, entry.version))
    if rule is None:
        versions = sorted(version for name, version in installed_rules() if name == entry.id)
        known = f"versions {versions}" if versions else "no rule of that name"
        raise Malformed(
            "unknown-rule", f"expected an installed rule, found {entry.id}/{entry.version} ({known})", pointer=pointer,
            remedy="pairmark rules list shows them",
        )
    return rule


def check_policy(policy: Policy) -> None:
    """Refuse a policy that names an unknown rule or gives parameters the rule does not take.

    Raises:
        Malformed: with a pointer into the policy.
    """
    from pydantic import ValidationError

    from pairmark.domain.documents.base import pointer_of

    for index, entry in enumerate(policy.rules):
        rule = rule_of(entry, f"/rules/{index}")
        try:
            rule.params.model_validate(entry.params)
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            raise Malformed(
                "invalid-params", f"expected the parameters of {entry.id}/{entry.version}: {first['msg'][:200]}",
                pointer=f"/rules/{index}/params{pointer_of(first, entry.params)}", remedy=f"pairmark rules explain {entry.id}",
            ) from None
