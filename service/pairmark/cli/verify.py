"""`pairmark verify`: a certificate, offline, step by step."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.console import clean, say, say_all, say_bytes, styled, table, wrapped

if TYPE_CHECKING:
    from pairmark.verify import Memory, Verification
    from pairmark.verify.kinds import Kind

MAX_BYTES = 2_000_000_000
_STYLES = {"PASS": "good", "FAIL": "bad", "NOT_CHECKED": "warn"}


class Format(StrEnum):
    """How a verification is shown."""

    TEXT = "text"
    JSON = "json"


def verify(
    certificate: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="A certificate bundle (certificate.json).")],
    trust: Annotated[
        Path | None, typer.Option("--trust", metavar="FILE", help="The log's trust root (trust.json), got from a place you trust.")
    ] = None,
    root_digest: Annotated[
        str | None, typer.Option("--root-digest", metavar="DIGEST", help="What the first trust root must be: the digest its operator published.")
    ] = None,
    artifacts: Annotated[
        Path | None,
        typer.Option(
            "--artifacts", metavar="DIR", help="Folder with suite.json, benign/, attacked/, baseline/: compute every number again."
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="The whole exported log (log.jsonl): shows that no revocation is hidden.")
    ] = None,
    rows: Annotated[
        Path | None, typer.Option("--rows", metavar="FILE", help="A proof of single episodes, as `pairmark prove` writes it.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="FILE", help="What you saw last of the log; read, and brought up to date.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="text: a checklist; json: one object.")] = Format.TEXT,
) -> int:
    """Verify a certificate offline, step by step.

    It takes nine steps, and claims no more than they carry.

    Exit: 0 valid, 1 a step failed, 2 wrong usage, 4 revoked, 5 superseded, 6 signature, inclusion or status could not be checked.
    """
    from pairmark.domain.errors import Malformed
    from pairmark.verify import Memory, verify_bundle
    from pairmark.verify.memory import parse_memory

    if artifacts is not None and not artifacts.is_dir():
        raise Malformed("unreadable", "expected a folder of artifacts, found none", str(artifacts), remedy="check the path")
    known = state is not None and state.exists()
    remembered = parse_memory(read_as("verifier state", state, "--state"), file=str(state)) if state is not None and known else Memory()
    found = verify_bundle(
        read_as("certificate bundle", certificate),
        trust=None if trust is None else read_as("trust root", trust, "--trust"),
        root_digest=root_digest,
        artifacts=artifacts,
        log=None if log is None else read_as("exported log", log, "--log"),
        rows=None if rows is None else read_as("proof of episodes", rows, "--rows"),
        remembered=remembered,
    )
    if state is not None and found.memory is not None and found.memory != remembered:
        _remember(state, found.memory)
    _show(found, format_)
    return found.exit_code


def read_as(kind: Kind, path: Path, option: str | None = None) -> bytes:
    """The bytes of a file that a person gave as a kind of document.

    Raises:
        Malformed: it cannot be read, or is certainly another kind of document.
    """
    from pairmark.verify.kinds import require_kind

    data = _read(path)
    require_kind(data, kind, f"{path}" if option is None else f"{option} {path}")
    return data


def _read(path: Path) -> bytes:
    from pairmark.domain.errors import Malformed

    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as problem:
        raise Malformed("unreadable", f"expected a readable file, found: {problem.strerror}", str(path), remedy="check the path") from None
    if len(data) > MAX_BYTES:
        raise Malformed("too-large", f"expected at most {MAX_BYTES} bytes, found more", str(path), remedy="check the path")
    return data


def _remember(path: Path, memory: Memory) -> None:
    from pairmark.adapters.keys.files import write_durably

    write_durably(path, memory.content(), 0o600)


def _show(found: Verification, format_: Format) -> None:
    if format_ is Format.JSON:
        from pairmark.domain.canonical import canonical_bytes

        say_bytes(canonical_bytes(found.value()))
        return
    longest = max(len(step.name) for step in found.steps)
    for number, step in enumerate(found.steps, 1):
        head = f"{number}. {step.name:<{longest}}  {step.outcome:<11}  "
        lines = wrapped(step.message, " " * len(head), head) or [head]
        say(lines[0].replace(step.outcome, styled(step.outcome, _STYLES[step.outcome]), 1))
        say_all(lines[1:])
    if found.shown:
        say()
        columns = ("task_id", "injection_id", "epoch", "status", "utility", "attack_success")
        say_all(table([("arm", "row", *columns), *(_row(item, columns) for item in found.shown)]))
    say()
    named = f"certificate {clean(found.serial)}: " if found.serial is not None else ""
    style = {0: "good", 1: "bad"}.get(found.exit_code, "warn")
    say(named + styled(clean(found.summary), style))


def _row(item: dict[str, object], columns: tuple[str, ...]) -> tuple[str, ...]:
    episode = item["episode"]
    assert isinstance(episode, dict)
    cells = ("unknown" if episode.get(name) is None else str(episode[name]).lower() if isinstance(episode[name], bool) else str(episode[name]) for name in columns)
    return (str(item["arm"]), str(item["row"]), *cells)
