"""`pairmark import`: a harness' files to a run bundle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairmark.cli.console import clean, say, say_all, say_bytes, table, wrapped
from pairmark.cli.exit_codes import OK
from pairmark.cli.pair import SuiteFile

if TYPE_CHECKING:
    from pairmark.domain.documents.suite import SuiteManifest
    from pairmark.importers.base import Imported


class ArmChoice(StrEnum):
    """The two kinds of arm; a baseline is an attacked run."""

    BENIGN = "benign"
    ATTACKED = "attacked"


class ExplainFormat(StrEnum):
    """How an explanation is shown."""

    TEXT = "text"
    JSON = "json"


def import_run(
    harness: Annotated[str, typer.Argument(metavar="HARNESS", help="Whose files they are, such as `agentdojo`.")],
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="For agentdojo: one pipeline directory; for several epochs give several, or a parent of seed-* folders. For inspect:"
            " logs, or the folder they lie in. For asb: the arm's CSV table. For tau-bench: the JSON of results. For"
            " every-eval-ever: the JSON Lines of instances. For generic: files or folders that --mapping explains.",
        ),
    ],
    suite: SuiteFile,
    arm: Annotated[ArmChoice, typer.Option("--arm", help="Which arm to read. A baseline is an attacked run.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="BUNDLE", help="Directory to write; it must be new or empty. Only --explain needs none."
        ),
    ] = None,
    attack: Annotated[
        str | None, typer.Option("--attack", metavar="NAME", help="Which attack, where the folder holds several.")
    ] = None,
    epoch: Annotated[
        int | None, typer.Option("--epoch", min=1, metavar="N", help="Number of the epoch, where there is one.")
    ] = None,
    system: Annotated[
        Path | None, typer.Option("--system", metavar="FILE", help="JSON with what the harness does not record.")
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping", metavar="FILE",
            help="YAML or JSON: for generic, what the columns of the files mean; for inspect, what a task's values mean.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how every column was understood, and what stays unknown.")
    ] = False,
    format_: Annotated[
        ExplainFormat, typer.Option("--format", help="text, or json: with --explain, one object and nothing else.")
    ] = ExplainFormat.TEXT,
) -> int:
    """Read a harness' files as a run bundle. It holds run.json and episodes.jsonl.

    Nothing is guessed: what neither the files nor --system record stays unrecorded, and unreadable files are listed.
    """
    from pairmark.adapters.ledgers.bundle import read_suite, write_bundle
    from pairmark.cli.harness_input import Beside, named_reader, read_arm
    from pairmark.domain.errors import Malformed

    if output is None and not explain:
        raise Malformed("usage", "expected -o BUNDLE, found none", remedy="say where to write, or ask to --explain")
    if format_ is ExplainFormat.JSON and not explain:
        raise Malformed("usage", "expected --explain with --format json, found none", remedy="add --explain")
    importer = named_reader(harness, mapping)
    loaded = read_suite(suite)
    imported = read_arm(importer, paths, arm.value, Beside(attack=attack, epoch=epoch, system=system), loaded.manifest, loaded.digest)
    imported = _with_notes_on_cells(imported, arm.value, loaded.manifest)
    if output is not None:
        write_bundle(imported.run, imported.episodes, output)
    if format_ is ExplainFormat.JSON:
        from pairmark.cli.explaining import explanation
        from pairmark.domain.canonical import canonical_bytes

        say_bytes(canonical_bytes(explanation(importer, imported)))
        return OK
    done = "read, and wrote nothing" if output is None else f"wrote {clean(output)}"
    say(f"{done}: {arm.value} arm of {clean(loaded.manifest.suite)} {clean(loaded.manifest.version)}")
    say_all(summary_lines(imported))
    if explain:
        from pairmark.cli.explaining import explanation_lines

        say()
        say_all(explanation_lines(importer, imported))
    return OK


def _with_notes_on_cells(imported: Imported, arm: str, suite: SuiteManifest) -> Imported:
    """Also noting ids that the manifest does not have, cells that it does not plan, and records that repeat a cell."""
    from dataclasses import replace

    from pairmark.app.trial_cells import cells_of

    return replace(imported, notes=(*imported.notes, *cells_of(arm, imported, suite).problems))


def read_system_file(path: Path) -> dict[str, Any]:
    """The JSON object in a --system file; its keys are checked by the importer.

    Raises:
        Malformed: not a JSON object, or with a key or value that a run document does not take.
    """
    from pairmark.importers.system_file import check_system_file

    value = read_object(path)
    check_system_file(value, file=str(path))
    return value


def read_object(path: Path) -> dict[str, Any]:
    """The strict JSON object in a file.

    Raises:
        Malformed: no such file, or no JSON object.
    """
    from pairmark.adapters.ledgers.documents import read_bytes
    from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS
    from pairmark.domain import strict_json
    from pairmark.domain.errors import Malformed

    value = strict_json.parse(read_bytes(path, "document", DEFAULT_LIMITS.document), file=str(path))
    if not isinstance(value, dict):
        raise Malformed("not-an-object", "expected a JSON object", str(path), 1, "", "see docs/documents.md")
    return value


def summary_lines(imported: Imported) -> Iterator[str]:
    """What was read, what could not be, what was set aside, and what nobody recorded."""
    episodes = imported.episodes
    statuses = episodes["status"].value_counts(sort=True).rows()
    counted = ", ".join(f"{count} {status}" for status, count in statuses)
    yield f"episodes: {episodes.height}" + (f" ({counted})" if counted else "")
    rows = [("", "true", "false", "unknown")]
    for column in ("utility", "attack_success", "delivered"):
        values = episodes[column]
        true, unknown = int(values.sum() or 0), values.null_count()
        rows.append((column, str(true), str(episodes.height - true - unknown), str(unknown)))
    yield from table(rows, right=frozenset({1, 2, 3}))
    if imported.unreadable:
        yield f"unreadable files: {len(imported.unreadable)}; a cell that a file's place names is aborted"
        for file in imported.unreadable:
            yield from wrapped(f"{file.path}: {file.reason}", "      ", "  ")
    if imported.set_aside:
        yield "set aside: " + ", ".join(f"{count} {clean(kind)}" for kind, count in imported.set_aside.items())
    for note in imported.notes:
        yield from wrapped(note, "  ", "note: ")
    missing = list(unrecorded(imported.run))
    if missing:
        yield from wrapped(f"{', '.join(missing)} (--system FILE can say)", "  ", "unrecorded: ")


def unrecorded(run: Mapping[str, Any]) -> Iterator[str]:
    """What is null or missing in a run document although a rule compares it, by dotted path."""
    from pairmark.domain.documents.run import REQUIRED_DECODING_KEYS

    system, harness = run["system"], run["harness"]
    yield from (f"system.{key}" for key, value in system.items() if value is None)
    if system["decoding"] is not None:
        yield from (f"system.decoding.{key}" for key in REQUIRED_DECODING_KEYS if key not in system["decoding"])
    if system["model"] is not None:
        yield from (f"system.model.{key}" for key, value in system["model"].items() if value is None)
    yield from (f"harness.{key}" for key in ("name", "version") if harness[key] is None)
    yield from (f"retries.{key}" for key, value in run["retries"].items() if value is None)
    yield from (key for key in ("started_at", "finished_at") if run[key] is None)
