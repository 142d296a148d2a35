"""Probe documents as files, and the one score of them that a manifest records."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from pairmark.adapters.ledgers.documents import read_suite
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.probe import ProbeDocument
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


def merge_into(document: ProbeDocument, path: Path) -> str:
    """Write the null agent's score into the manifest in a file, which stays the same suite; returns the score.

    The file changes whole or not at all. Other probes and everything else in it are kept.

    Raises:
        Malformed: no readable manifest; it is of another suite content; or the score is not known for every task.
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
    run = document.null_agent
    unknown = [] if run is None else [task.task for task in run.tasks if task.utility is None]
    if run is None or run.utility is None or unknown:
        raise Malformed(
            "unknown-floor",
            f"expected the null agent's outcome of every task, found none of {', '.join(unknown[:5]) or 'any'}",
            str(path),
            remedy="leave --into out: a floor that is known in part is not the suite's",
        )
    probes = {**(loaded.value.get("probes") or {}), "null_agent": {"utility": run.utility, "method": run.method}}
    value = {**loaded.value, "probes": probes}
    read_document(SuiteManifest, canonical_bytes(value), file=str(path))
    _replace(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
    return run.utility


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
