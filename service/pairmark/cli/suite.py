"""`pairmark suite`: manifests from a harness, in the registry, and side by side."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairmark.cli.console import clean, say, say_all, say_bytes
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl, client_of
from pairmark.cli.suite_probe import app as probe

if TYPE_CHECKING:
    from pairmark.domain.documents.suite import SuiteManifest

app = typer.Typer(help="Suite manifests: the frozen content of a benchmark.", no_args_is_help=False)
export = typer.Typer(help="Write a manifest of what a harness holds.", no_args_is_help=False)
app.add_typer(export, name="export")
app.add_typer(probe, name="probe")

Output = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File to write; it must not exist yet.")]
SuiteName = Annotated[
    str, typer.Argument(metavar="SUITE", help="A manifest file, or a digest registered at the service.")
]


class Format(StrEnum):
    """How an answer is shown."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="text: for people; json: one object.")]


@export.command("agentdojo")
def export_agentdojo(
    benchmark_version: Annotated[str, typer.Option("--benchmark-version", metavar="V", help="Such as v1.2.2.")],
    suite: Annotated[
        list[str], typer.Option("--suite", metavar="NAME", help="Such as banking, or all; may be given again: each is a group.")
    ],
    output: Output,
    null_agent: Annotated[
        bool, typer.Option("--probe/--no-probe", help="Run the null agent and the canaries, too.")
    ] = True,
) -> int:
    """Export from the installed package. It is the extra `agentdojo`; what is written: ids, digests and tool names, no prompt text."""
    from pairmark.adapters.agentdojo.export import export_suite

    _write(export_suite(benchmark_version, suite, probe=null_agent), output)
    return OK


@export.command("inspect_evals")
def export_inspect_evals(
    evaluation: Annotated[str, typer.Argument(metavar="EVALUATION", help="agentdojo.")],
    suite: Annotated[
        list[str], typer.Option("--suite", metavar="NAME", help="Such as banking, or all; may be given again: each is a group.")
    ],
    output: Output,
    sandbox_tasks: Annotated[
        str, typer.Option("--sandbox-tasks", metavar="yes|no|only", help="As the runs' with_sandbox_tasks.")
    ] = "yes",
) -> int:
    """Export an evaluation of the installed package. It is the extra `inspect-evals`; ids are those that its logs show."""
    from pairmark.adapters.inspect_evals.export import check_evaluation, export_suite

    check_evaluation(evaluation)
    _write(export_suite(suite, sandbox_tasks), output)
    return OK


@export.command("agentdojo-runs")
def export_agentdojo_runs(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR", help="Pipeline directories of AgentDojo runs.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the suite, such as agentdyn/all.")],
    output: Output,
) -> int:
    """Export what folders of runs show. For suites that no package exports."""
    from pairmark.adapters.agentdojo.observed import export_from_runs

    _write(export_from_runs(folders, name), output)
    return OK


@export.command("inspect-runs")
def export_inspect_runs(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG", help="Inspect logs, or folders they lie in.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the suite, such as agentdojo/banking.")],
    output: Output,
    mapping: Annotated[
        Path | None, typer.Option("--mapping", metavar="FILE", help="YAML or JSON: what the values of the task mean.")
    ] = None,
) -> int:
    """Export what Inspect logs show. For tasks that no package exports; it needs the extra `inspect`."""
    from pairmark.adapters.inspect import export_from_logs
    from pairmark.cli.harness_input import read_mapping

    said = read_mapping(mapping)
    _write(export_from_logs(logs, name, None if said is None else said.value), output)
    return OK


@export.command("asb-runs")
def export_asb_runs(
    tables: Annotated[list[Path], typer.Argument(metavar="TABLE", help="Result tables of Agent Security Bench (CSV).")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the suite, such as asb/all.")],
    output: Output,
) -> int:
    """Export what result tables show. Agents, and their attack tools; give every table of the experiment."""
    from pairmark.adapters.observed.asb import export_from_tables

    _write(export_from_tables(tables, name), output)
    return OK


@export.command("tau-bench-runs")
def export_tau_bench_runs(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Result files of tau-bench (JSON, or .gz).")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the suite, such as tau-bench/airline.")],
    output: Output,
) -> int:
    """Export what result files show. Tasks only: there are no injections."""
    from pairmark.adapters.observed.tau_bench import export_from_results

    _write(export_from_results(files, name), output)
    return OK


@app.command("register")
def register(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Suite manifest (JSON).")],
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """Register a manifest at a service. A label never changes its content. Exit: 1 if the label has other content."""
    from pairmark.adapters.ledgers.documents import read_suite
    from pairmark.domain.canonical import canonical_bytes

    loaded = read_suite(file)
    with client_of(service) as client:
        reply = client.register_suite(canonical_bytes(loaded.value))
    answer = reply.model
    say(
        f"{'registered' if reply.new else 'registered already:'} {clean(answer.name)} {clean(answer.version)} {answer.digest}"
    )
    if answer.kept:
        say(f"kept as registered first: {', '.join(answer.kept)}")
    return OK


@app.command("show")
def show(
    suite: SuiteName,
    cells: Annotated[bool, typer.Option("--cells", help="List every planned attacked cell.")] = False,
    format_: FormatOption = Format.TEXT,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """Show a suite. Its digest, groups, tasks, injections and planned cells."""
    from pairmark.cli.suite_text import cell_lines, manifest_lines

    manifest, value, digest = _load(suite, service)
    if format_ is Format.JSON:
        say(json.dumps(value, indent=1, ensure_ascii=True))
        return OK
    say_all(cell_lines(manifest) if cells else manifest_lines(manifest, digest))
    return OK


@app.command("diff")
def diff(
    left: SuiteName,
    right: SuiteName,
    certificates: Annotated[
        bool, typer.Option("--certificates", help="Ask the service which certificates stand over either side.")
    ] = False,
    format_: FormatOption = Format.TEXT,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Compare two suite versions cell by cell. What was added, removed, changed, what survives, and what stays comparable."""
    from pairmark.cli.suite_text import diff_lines
    from pairmark.domain.canonical import canonical_bytes

    found = _certified_diff(left, right, service, data) if certificates else _plain_diff(left, right, service)
    if format_ is Format.JSON:
        say_bytes(canonical_bytes(found))
    else:
        say_all(diff_lines(found))
    return OK


def _plain_diff(left: str, right: str, service: str) -> dict[str, Any]:
    from pairmark.domain.suite_diff import diff_suites

    (one, _, one_digest), (other, _, other_digest) = _load(left, service), _load(right, service)
    return diff_suites(one, one_digest, other, other_digest).model_dump(mode="json", by_alias=True)


def _certified_diff(left: str, right: str, service: str, data: Path | None) -> dict[str, Any]:
    from pairmark.adapters.ledgers.documents import read_suite

    digests = [one if one.startswith("sha256:") else read_suite(one).digest for one in (left, right)]
    with client_at(service, data) as client:
        return client.suite_diff(*digests, certificates=True).value


def _load(suite: str, service: str) -> tuple[SuiteManifest, dict[str, Any], str]:
    """The manifest in a file, or the one registered under a digest."""
    from pairmark.adapters.ledgers.documents import read_suite
    from pairmark.domain.canonical import suite_digest

    if suite.startswith("sha256:") and not Path(suite).exists():
        with client_of(service) as client:
            reply = client.suite(suite)
        return reply.model, reply.value, suite_digest(reply.value)
    loaded = read_suite(suite)
    return loaded.manifest, loaded.value, loaded.digest


def _write(manifest: dict[str, Any], output: Path) -> None:
    from pairmark.domain.canonical import canonical_bytes, suite_digest
    from pairmark.domain.documents.base import read_document
    from pairmark.domain.documents.suite import SuiteManifest
    from pairmark.domain.errors import Malformed

    read_document(SuiteManifest, canonical_bytes(manifest), file=str(output))
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    except FileExistsError:
        raise Malformed(
            "exists", "expected a file that does not exist yet", str(output), remedy="choose another name"
        ) from None
    say(f"wrote {clean(output)}: {clean(manifest['suite'])} {clean(manifest['version'])} {suite_digest(manifest)}")
