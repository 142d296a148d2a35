"""`pairmark aggregate`: counts whose episodes nobody has, kept for the record and never certified."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from pairmark.cli.console import clean, say, say_all, table
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl

app = typer.Typer(help="Counts without episodes: kept for the record, never certified.", no_args_is_help=False)
import_ = typer.Typer(help="Make aggregates of other people's tables, and hand them in.", no_args_is_help=False)
app.add_typer(import_, name="import")

Table = Annotated[Path, typer.Argument(metavar="FILE", help="CSV table, also .gz or .zst.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Write the documents here instead of handing them in."),
]
SuiteName = Annotated[str, typer.Option("--suite", metavar="NAME", help="Name under which history lists them.")]


@app.command("submit")
def submit(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Aggregate documents (JSON).")],
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Hand in aggregates. Each is kept as uncertifiable with its reasons, and is never part of history by default."""
    from pairmark.domain.documents.aggregate import Aggregate
    from pairmark.domain.documents.base import read_document

    values = [read_document(Aggregate, file.read_bytes(), file=str(file))[1] for file in files]
    return _hand_in(values, None, service, data)


@import_.command("agentdyn")
def import_agentdyn(
    file: Table,
    suite: SuiteName = "agentdyn",
    output: Output = None,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Take in AgentDyn's table of episodes. Every pipeline is tallied and judged: what it lacks to be certified are the reasons."""
    from pairmark.adapters.ledgers.documents import read_policy
    from pairmark.adapters.tables.agentdyn import read_agentdyn
    from pairmark.app.aggregates_from_episodes import aggregates_of

    return _hand_in(aggregates_of(read_agentdyn(file), suite, read_policy("standard/1").policy), output, service, data)


@import_.command("asb")
def import_asb(
    clean_table: Annotated[Path, typer.Argument(metavar="CLEAN", help="Results without attack.")],
    attacked_table: Annotated[Path, typer.Argument(metavar="ATTACKED", help="Results under attack.")],
    model: Annotated[str | None, typer.Option("--model", help="Model that was asked for.")] = None,
    suite: SuiteName = "agent-security-bench",
    output: Output = None,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Take in a pair of Agent Security Bench tables. Paired on (agent, tool). Its agents are the independent units, not its rows."""
    from pairmark.adapters.tables.asb import read_asb

    return _hand_in([read_asb(clean_table, attacked_table, model, suite)], output, service, data)


@import_.command("strata")
def import_strata(
    file: Table,
    suite: SuiteName,
    harness: Annotated[str | None, typer.Option("--harness", metavar="NAME", help="Harness behind the counts.")] = None,
    output: Output = None,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Take in a table of counts by model and defense. Planned and usable."""
    from pairmark.adapters.tables.strata import read_strata

    return _hand_in(read_strata(file, suite, harness), output, service, data)


def _hand_in(values: Iterable[dict[str, Any]], output: Path | None, service: str, data: Path | None) -> int:
    """Write the documents, or keep them at a service; a line each."""
    from pairmark.domain.canonical import canonical_bytes
    from pairmark.domain.documents.aggregate import Aggregate
    from pairmark.domain.documents.base import read_document

    checked = [read_document(Aggregate, canonical_bytes(value))[1] for value in values]
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for number, value in enumerate(checked, 1):
            with (output / f"{number:04}.json").open("x", encoding="utf-8") as target:
                target.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
        say(f"wrote {len(checked)} aggregates to {clean(output)}")
        return OK
    rows: list[tuple[str, ...]] = [
        ("aggregate", "name", "attack", "benign", "under attack", "attack success", "no certificate, for")
    ]
    new = 0
    with client_at(service, data) as client:
        for value in checked:
            reply = client.submit_aggregate(canonical_bytes(value))
            new += reply.new
            rows.append(_row(reply.value))
    say_all(table(rows, right=frozenset({3, 4, 5})))
    say(f"{len(checked)} kept as uncertifiable, {new} of them new")
    return OK


def _row(answer: dict[str, Any]) -> tuple[str, ...]:
    from pairmark.cli.figures import percent

    metrics, aggregate = answer["metrics"], answer["aggregate"]
    shown = [
        percent(metrics[rate]["fraction"]) if metrics[rate]["value"] is not None else "undefined"
        for rate in ("benign_utility", "utility_under_attack", "attack_success_rate")
    ]
    attack = "" if aggregate["attack"] is None else aggregate["attack"]["name"]
    reasons = ", ".join(reason["code"] for reason in answer["reasons"])
    return (answer["id"], aggregate["name"], attack, *shown, reasons)
