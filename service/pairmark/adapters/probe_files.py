"""Probe documents as files, and the shares of them that a manifest records."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from pairmark.adapters.ledgers.documents import read_suite
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.probe import CanaryRun, NullAgentRun, ProbeDocument
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed


def write_probe(document: dict[str, Any], path: Path) -> None:
    """Write a probe document to a file that does not exist yet.

    Raises:
        Malformed: it exists.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except FileExistsError:
        raise Malformed(
            "exists", "expected a file that does not exist yet", str(path), remedy="choose another name"
        ) from None


def merge_into(document: ProbeDocument, path: Path) -> dict[str, dict[str, str]]:
    """Write the null agent's score and the canaries' reach into the manifest in a file, which stays the same suite.

    The file changes whole or not at all. Probes that were not run, and everything else in it, are kept.

    Returns:
        What was written, by probe.

    Raises:
        Malformed: no readable manifest; it is of another suite content; or what was run is not known of every task.
    """
    loaded = read_suite(path)
    if loaded.digest != document.suite.digest:
        raise Malformed(
            "other-suite",
            f"expected a manifest of {document.suite.name} with digest {document.suite.digest}, which was probed, found"
            f" {loaded.manifest.suite} with {loaded.digest}",
            str(path),
            remedy="probe the suites and the version that the manifest was exported from, or export it anew",
        )
    found: dict[str, dict[str, str]] = {}
    if document.null_agent is not None:
        found["null_agent"] = _floor(document.null_agent, path)
    if document.canary is not None:
        found["canary"] = _reach(document.canary, path)
    if not found:
        raise Malformed(
            "nothing-to-record",
            "expected a document with the null agent's probe or the canaries', found neither",
            str(path),
            remedy="probe with --probe null-agent or --probe canary",
        )
    value = {**loaded.value, "probes": {**(loaded.value.get("probes") or {}), **found}}
    read_document(SuiteManifest, canonical_bytes(value), file=str(path))
    _replace(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
    return found


def _floor(run: NullAgentRun, path: Path) -> dict[str, str]:
    unknown = [task.task for task in run.tasks if task.utility is None]
    if run.utility is None or unknown:
        raise Malformed(
            "unknown-floor",
            f"expected the null agent's outcome of every task, found none of {', '.join(unknown[:5]) or 'any'}",
            str(path),
            remedy="leave --into out: a floor that is known in part is not the suite's",
        )
    return {"utility": run.utility, "method": run.method}


def _reach(run: CanaryRun, path: Path) -> dict[str, str]:
    recorded = run.recorded
    if recorded is None:
        unknown = [task.task for task in run.tasks if task.reached is None]
        raise Malformed(
            "unknown-reach",
            "expected what the reference solution of every task reads, and a place for payloads and an attacked cell to reach, found "
            + (f"nothing of {', '.join(unknown[:5])}" if unknown else "no place or no cell"),
            str(path),
            remedy="leave the probe canary or --into out: a reach that is known in part is not the suite's",
        )
    return recorded.model_dump()


def _replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as out:
        scratch = Path(out.name)
        try:
            out.write(text)
            out.flush()
            scratch.chmod(path.stat().st_mode & 0o777)
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
