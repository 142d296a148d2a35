"""Find registered suites: by digest, by label, as a list."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pairmark.app.errors import NotFoundAt
from pairmark.app.paging import Page, cursor_at, is_plain, place_of, query_mark
from pairmark.app.ports import SuiteLabel, Tables
from pairmark.app.stored import stored_document
from pairmark.domain.errors import Conflict, shown
from pairmark.domain.version_order import version_key

_digest = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class SuiteRead:
    """A manifest's bytes, and the label they were registered under."""

    label: SuiteLabel
    content: bytes
    digest: str


def list_suites(tables: Tables, name: str | None, cursor: str | None, limit: int) -> Page[SuiteLabel]:
    """Labels in the order of registration, of one suite name if given."""
    mark = query_mark(["suites", name])
    place = place_of(cursor, mark, (str, str, str))
    after = None if place is None else (str(place[0]), str(place[1]), str(place[2]))
    found = tables.suites.page(name, after, limit + 1) if name is None or is_plain(name) else ()
    items = found[:limit]
    more = len(found) > limit
    return Page(items, cursor_at(mark, (items[-1].created_at, items[-1].name, items[-1].version)) if more else None)


def read_suite(tables: Tables, digest: str) -> SuiteRead:
    """The first manifest that was registered with this content, or the manifest whose own digest this is.

    Raises:
        NotFound: nothing is registered under the digest.
    """
    label = first_of_digest(tables, digest)
    return SuiteRead(label, stored_document(tables, label.manifest), digest)


def first_of_digest(tables: Tables, digest: str) -> SuiteLabel:
    """The first label of a content digest, else of a manifest digest."""
    found = tables.suites.of_digest(digest) if _digest.fullmatch(digest) else ()
    if not found:
        raise NotFoundAt("unknown-suite", f"expected the digest of a registered suite, found {shown(digest)}", "the page /suites, and GET /v1/suites, list them")
    return next((label for label in found if label.digest == digest), found[0])


def newest_of_digest(tables: Tables, digest: str) -> SuiteLabel:
    """The newest label of a content digest: its probes are what a verdict uses."""
    found = [label for label in tables.suites.of_digest(digest) if label.digest == digest]
    if not found:
        raise NotFoundAt("unknown-suite", f"expected the digest of a registered suite, found {shown(digest)}", "register it first")
    return found[-1]


def resolve_suite(tables: Tables, reference: str) -> SuiteLabel:
    """The suite a person means: a digest, `name@version`, `name/version`, `name@latest`, or a name that has one content only.

    Raises:
        NotFound: nothing is registered under it.
        Conflict: a name with several contents.
    """
    if _digest.fullmatch(reference):
        return first_of_digest(tables, reference)
    for separator in ("@", "/"):
        name, found, version = reference.rpartition(separator)
        label = tables.suites.of_label(name, version) if found else None
        if label is not None:
            return label
    name = reference.removesuffix("@latest")
    labels = sorted(tables.suites.of_name(name), key=lambda label: version_key(label.version))
    if not labels:
        raise NotFoundAt(
            "unknown-suite", f"expected a suite's digest, `name@version`, `name@latest` or name, found {shown(reference)}",
            "the page /suites, and GET /v1/suites, list them",
        )
    if name == reference and len({label.digest for label in labels}) > 1:
        versions = ", ".join(label.version for label in labels)
        raise Conflict(
            "several-suites", f"expected one content under the name {shown(reference)}, found versions {versions}",
            f"ask for one, such as {reference}@{labels[-1].version}, or for {reference}@latest",
        )
    return labels[-1]
