"""Canonical bytes and digests: SHA-256 over RFC 8785 bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import rfc8785

DIGEST_PREFIX = "sha256:"


def canonical_bytes(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value (dict, list, str, bool, int within 2^53 - 1, finite float, None)."""
    return rfc8785.dumps(value)


def digest_of_bytes(data: bytes) -> str:
    """`sha256:` and 64 lower-case hex digits."""
    return DIGEST_PREFIX + hashlib.sha256(data).hexdigest()


def digest_of(value: Any) -> str:
    """Digest of a document: over its RFC 8785 bytes, as written, no defaults added."""
    return digest_of_bytes(canonical_bytes(value))


SUITE_KEYS_OUTSIDE_DIGEST = frozenset({"version", "description", "source", "probes"})


def suite_digest(manifest: Mapping[str, Any]) -> str:
    """Digest of a suite's content: everything except `version`, `description`, `source` and `probes`."""
    return digest_of({key: value for key, value in manifest.items() if key not in SUITE_KEYS_OUTSIDE_DIGEST})
