"""Reading one file with one of the readers whose files hold a whole run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.importers.base import Imported
from pairmark.importers.registry import importer_of


def read_file(harness: str, path: Path, manifest: Mapping[str, Any], arm: str, **options: Any) -> Imported:
    """What the importer makes of it; its run document is a valid one."""
    suite = SuiteManifest.model_validate_json(canonical_bytes(manifest))
    found = importer_of(harness).read([path], suite=suite, suite_digest=suite_digest(manifest), arm=arm, **options)  # type: ignore[arg-type]
    Run.model_validate_json(canonical_bytes(found.run))
    return found
