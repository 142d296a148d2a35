"""Register a suite manifest under its label."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pairmark.app.errors import ConflictAt, Place
from pairmark.app.moments import moment
from pairmark.app.ports import SuiteLabel, Tables
from pairmark.app.stored import stored_document, understood
from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed

LONGEST_LABEL = 256
"""Characters of a suite's name, and of its version, on a service."""

NOTES = ("description", "source", "probes")
"""Outside the digest, and of no consequence to a verdict, but for the null agent's probe, which a verdict uses."""


@dataclass(frozen=True)
class SuiteRegistered:
    """The label as it stands; `new` if this call made it; `kept` names notes that differ from those kept, which stay."""

    label: SuiteLabel
    new: bool
    kept: tuple[str, ...] = ()


def register_suite(tables: Tables, manifest: SuiteManifest, value: dict[str, Any], now: datetime) -> SuiteRegistered:
    """Register `manifest`, written as `value`. A label is an alias of one content for ever.

    Raises:
        Malformed: the label is too long for a service.
        Conflict: the label stands for other content, or for the same content with another probe of the null agent.
    """
    for key, text in (("suite", manifest.suite), ("version", manifest.version)):
        if len(text) > LONGEST_LABEL:
            raise Malformed(
                "label-too-long", f"expected at most {LONGEST_LABEL} characters, found {len(text)}", None, None, f"/{key}",
                "give the suite a shorter label",
            )
    digest, document = suite_digest(value), digest_of(value)
    there = tables.suites.of_label(manifest.suite, manifest.version)
    if there is None:
        label = SuiteLabel(manifest.suite, manifest.version, digest, document, moment(now))
        tables.documents.put(document, canonical_bytes(value))
        tables.suites.add(label)
        return SuiteRegistered(label, True)
    name = f"{manifest.suite}@{manifest.version}"
    stored = manifest_value(tables, there)
    if there.digest != digest:
        raise ConflictAt(
            "suite-label-taken",
            f"expected {name} to be new or to have the content it was registered with ({there.digest}), found {digest}",
            "give changed content a new version",
            tuple(Place(f"/{key}", "differs from what is registered") for key in _differing(stored, value)),
        )
    if _null_agent(stored) != _null_agent(value):
        raise ConflictAt(
            "suite-probes-differ",
            f"expected the null agent's probe that {name} was registered with, found another; a verdict may rest on it",
            "register the manifest with its new probes under another version: equal content shares one history",
            (Place("/probes", "differs from what is registered"),),
        )
    return SuiteRegistered(there, False, tuple(key for key in NOTES if stored.get(key) != value.get(key)))


def manifest_value(tables: Tables, label: SuiteLabel) -> dict[str, Any]:
    """The manifest as it was registered under a label."""
    return understood(SuiteManifest, stored_document(tables, label.manifest), label.manifest)[1]


def _null_agent(value: dict[str, Any]) -> Any:
    return (value.get("probes") or {}).get("null_agent")


def _differing(stored: dict[str, Any], value: dict[str, Any]) -> list[str]:
    keys = sorted((stored.keys() | value.keys()) - {"version", "description", "source", "probes"})
    return [key for key in keys if canonical_bytes(stored.get(key)) != canonical_bytes(value.get(key))]
