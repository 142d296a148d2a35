"""`pairmark suite probe`: what a suite's own harness says of it without any model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pairmark.cli.console import clean, say_all, say_bytes
from pairmark.cli.exit_codes import OK, REFUSED

_RECORDED = {
    "null_agent": "the null agent's utility is {utility}",
    "canary": "the delivery ceiling is {delivery_ceiling}",
}

app = typer.Typer(help="Try a suite on its own harness without any model.", no_args_is_help=False)


class ProbeName(StrEnum):
    """What can be tried."""

    NULL_AGENT = "null-agent"
    REFERENCE = "reference"
    CANARY = "canary"
    DEAD_PROVIDER = "dead-provider"
    ALL = "all"


class ProbeFormat(StrEnum):
    """How an answer is shown."""

    TEXT = "text"
    JSON = "json"


SuiteOption = Annotated[
    list[str],
    typer.Option("--suite", metavar="NAME", help="Such as banking, or all; may be given again: each is a group."),
]
ProbeOption = Annotated[list[ProbeName], typer.Option("--probe", help="Which probe; may be given again.")]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="File for the probe document; it must not exist yet."),
]
IntoOption = Annotated[
    Path | None,
    typer.Option("--into", metavar="MANIFEST", help="Manifest of this suite to write floor and reach into."),
]
FormatOption = Annotated[ProbeFormat, typer.Option("--format", help="text: for people; json: the probe document.")]


@app.command("agentdojo")
def probe_agentdojo(
    benchmark_version: Annotated[str, typer.Option("--benchmark-version", metavar="V", help="Such as v1.2.2.")],
    suite: SuiteOption = ["all"],  # noqa: B006 - typer's way to say a list's default
    probe: ProbeOption = [ProbeName.ALL],  # noqa: B006
    output: OutputOption = None,
    into: IntoOption = None,
    format_: FormatOption = ProbeFormat.TEXT,
) -> int:
    """Probe suites of the installed package. Exit: 1 if an episode of a dead provider was read as an outcome."""
    from pairmark.adapters.agentdojo.probes import NAMES, probe_suites

    chosen = _chosen(probe, into, NAMES)
    return _deliver(probe_suites(benchmark_version, suite, chosen), output, into, format_)


@app.command("inspect_evals")
def probe_inspect_evals(
    evaluation: Annotated[str, typer.Argument(metavar="EVALUATION", help="agentdojo.")],
    suite: SuiteOption = ["all"],  # noqa: B006
    probe: ProbeOption = [ProbeName.ALL],  # noqa: B006
    sandbox_tasks: Annotated[
        str, typer.Option("--sandbox-tasks", metavar="yes|no|only", help="As in the manifest; none of them is run.")
    ] = "yes",
    output: OutputOption = None,
    into: IntoOption = None,
    format_: FormatOption = ProbeFormat.TEXT,
) -> int:
    """Probe an evaluation with Inspect itself.

    Of the installed package. Exit: 1 if a dead provider was read as an outcome.
    """
    from pairmark.adapters.inspect_evals.export import check_evaluation
    from pairmark.adapters.inspect_evals.probes import NAMES, probe_suites

    check_evaluation(evaluation)
    chosen = _chosen(probe, into, NAMES)
    return _deliver(probe_suites(suite, sandbox_tasks, chosen), output, into, format_)


def _chosen(probes: list[ProbeName], into: Path | None, names: tuple[str, ...]) -> list[str]:
    from pairmark.domain.errors import Malformed

    chosen = list(names) if ProbeName.ALL in probes else [one.value for one in probes]
    if into is not None and not {ProbeName.NULL_AGENT.value, ProbeName.CANARY.value} & set(chosen):
        raise Malformed(
            "usage",
            f"expected null-agent or canary, whose shares a manifest records, found {', '.join(chosen)}",
            remedy="leave --into out, or add --probe null-agent or --probe canary",
        )
    return chosen


def _deliver(found: dict[str, Any], output: Path | None, into: Path | None, format_: ProbeFormat) -> int:
    from pairmark.adapters.probe_files import merge_into, write_probe
    from pairmark.cli.suite_probe_text import probe_lines
    from pairmark.domain.canonical import canonical_bytes
    from pairmark.domain.documents.base import read_document
    from pairmark.domain.documents.probe import ProbeDocument

    content = canonical_bytes(found)
    document, _ = read_document(ProbeDocument, content)
    if output is not None:
        write_probe(found, output)
    told = [] if output is None else [f"wrote {clean(output)}"]
    if into is not None:
        merged = merge_into(document, into)
        said = [_RECORDED[name].format(**probe) for name, probe in merged.items()]
        told.append(f"wrote {clean(into)}: {'; '.join(said)}")
    if format_ is ProbeFormat.JSON:
        say_bytes(content)
    else:
        say_all(probe_lines(document))
        say_all(told)
    dead = document.dead_provider
    return OK if dead is None or all(one.is_read_as_aborted for one in dead.episodes) else REFUSED
