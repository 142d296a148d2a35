"""What observed manifests share: digests for what was not seen, and where a manifest comes from."""

from __future__ import annotations

from typing import Any

from pairmark.domain.canonical import digest_of

VERSION = "observed"


def unobserved(harness: str, what: str, of: str) -> str:
    """Digest that covers a name only: equal where the names are, and of no content."""
    return digest_of({"unobserved": what, "of": of, "harness": harness})


def observed_manifest(harness: str, name: str, description: str, **content: Any) -> dict[str, Any]:
    """A manifest of those parts, planned in full, one epoch, weighted by task. No probe: nothing was run."""
    return {
        "schema": "pairmark/suite/v1",
        "suite": name,
        "version": VERSION,
        "description": description,
        "source": {"harness": harness, "package": None, "license": None},
        "environment": {"digest": unobserved(harness, "environment", name), "clock": None},
        "tools": [],
        **content,
        "grid": "full",
        "epochs": 1,
        "weighting": "task",
    }
