"""`pairmark policy`: what "certified" means under each policy that comes with Pairmark."""

from __future__ import annotations

from typing import Annotated

import typer

from pairmark.cli.console import clean, say, say_all, table, wrapped
from pairmark.cli.exit_codes import OK

app = typer.Typer(help="Policies: named, versioned sets of rules and thresholds.", no_args_is_help=False)


@app.command("list")
def list_policies() -> int:
    """List the policies that come with Pairmark."""
    from pairmark.adapters.ledgers.documents import read_policy, shipped_policies

    loaded = [(name, read_policy(name)) for name in shipped_policies()]
    say_all(table([(name, f"{len(policy.policy.rules)} rules", policy.digest) for name, policy in loaded]))
    return OK


@app.command("show")
def show(
    policy: Annotated[
        str, typer.Argument(metavar="NAME/VERSION|FILE", help="A policy that comes with Pairmark, or a file.")
    ],
) -> int:
    """Show a policy's rules and parameters."""
    from pairmark.adapters.ledgers.documents import read_policy

    loaded = read_policy(policy)
    say(f"{clean(loaded.policy.name)}/{clean(loaded.policy.version)}  {loaded.digest}")
    if loaded.policy.description is not None:
        say_all(wrapped(loaded.policy.description, "  "))
    rows = [
        (f"  {rule.id}/{rule.version}", ", ".join(f"{key} = {clean(value)}" for key, value in rule.params.items()))
        for rule in loaded.policy.rules
    ]
    say_all(table(rows))
    return OK
