"""`pairmark rules`: what the installed rules demand, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from pairmark.cli.console import clean, say, say_all, styled, table, wrapped
from pairmark.cli.exit_codes import OK

app = typer.Typer(help="The rules a policy can ask for.", no_args_is_help=False)


@app.command("list")
def list_rules() -> int:
    """List every installed rule."""
    from pairmark.cli.rule_index import declared_rules

    say_all(table([(f"{rule.id}/{rule.version}", rule.title) for rule in declared_rules()]))
    return OK


@app.command("explain")
def explain(rule: Annotated[str, typer.Argument(metavar="ID", help="A rule's id, or ID/VERSION.")]) -> int:
    """Explain a rule. What it demands, why, from where, its parameters, and what to do when it fails."""
    from pairmark.adapters.ledgers.documents import read_policy, shipped_policies
    from pairmark.domain.errors import Malformed, shown
    from pairmark.rules.registry import installed_rules

    name, _, version = rule.partition("/")
    found = [known for key, known in installed_rules().items() if key[0] == name and version in ("", str(key[1]))]
    if not found:
        raise Malformed(
            "unknown-rule",
            f"expected an installed rule, found {shown(rule)}",
            remedy="`pairmark rules list` shows them",
        )
    for known in found:
        say(styled(f"{known.id}/{known.version}", "bold"))
        say_all(wrapped(f"Passes when {known.title}.", "  "))
        for heading, text in (("Why", known.why), ("Source", known.source), ("What to do when it fails", known.remedy)):
            say_all(wrapped(f"{heading}: {text}", "    ", "  "))
        for key, field in known.params.model_fields.items():
            say_all(wrapped(f"Parameter {key}: {field.description or 'see the policies below'}", "    ", "  "))
        for policy_name in shipped_policies():
            for entry in read_policy(policy_name).policy.rules:
                if (entry.id, entry.version) == (known.id, known.version):
                    given = (
                        ", ".join(f"{key} = {clean(value)}" for key, value in entry.params.items()) or "no parameters"
                    )
                    say_all(wrapped(f"In {policy_name}: {given}", "    ", "  "))
    return OK
