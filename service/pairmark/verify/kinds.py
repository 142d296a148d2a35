"""Which kind of document a file is, so that files given in each other's place are told from files that were changed.

Only what is certainly another kind is refused here. Whatever cannot be recognised is the steps' to judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from pairmark.domain.errors import Malformed

Kind = Literal["certificate bundle", "trust root", "exported log", "proof of episodes", "verifier state", "monitor state"]

LARGEST: Final = 64_000_000
"""Larger than any document that names its schema; a log may be larger."""

SCHEMAS: Final[Mapping[str, str]] = {
    "pairmark/aggregate/v1": "an aggregate",
    "pairmark/bundle/v1": "a certificate bundle",
    "pairmark/certificate/v1": "a certificate without its bundle",
    "pairmark/comparison-set/v1": "a set of comparisons",
    "pairmark/comparison/v1": "a comparison",
    "pairmark/evaluation-plan/v1": "a plan of an evaluation",
    "pairmark/expectations/v1": "an expectation suite",
    "pairmark/high-water-mark/v1": "a log's high-water mark",
    "pairmark/inspect-mapping/v1": "a mapping of Inspect logs",
    "pairmark/log-entry/v1": "a single log entry",
    "pairmark/mapping/v1": "a mapping of a harness' files",
    "pairmark/monitor-state/v1": "a monitor's state",
    "pairmark/policy/v1": "a policy",
    "pairmark/probe/v1": "a suite's probe",
    "pairmark/report/v1": "a report",
    "pairmark/rows/v1": "a proof of episodes",
    "pairmark/run/v1": "a run",
    "pairmark/suite-diff/v1": "a difference of suites",
    "pairmark/suite/v1": "a suite manifest",
    "pairmark/trust-chain/v1": "a trust root",
    "pairmark/trust/v1": "one version of a trust root without its signatures",
    "pairmark/verification/v1": "what `pairmark verify` said",
    "pairmark/verifier-state/v1": "a verifier's state",
}
"""Every document that names its schema in a file, in the words of a message."""

_WANTED: Final[Mapping[Kind, tuple[str, str]]] = {
    "certificate bundle": ("pairmark/bundle/v1", "give certificate.json, as the service hands it out"),
    "trust root": ("pairmark/trust-chain/v1", "give the service's trust.json"),
    "exported log": ("log.jsonl", "give what `pairmark log export` writes"),
    "proof of episodes": ("pairmark/rows/v1", "give what `pairmark prove` writes"),
    "verifier state": ("pairmark/verifier-state/v1", "name a file of its own for the state"),
    "monitor state": ("pairmark/monitor-state/v1", "name a file of its own for the state"),
}
_MAGIC: Final = (
    (re.compile(rb"\x1f\x8b\x08"), "a gzip archive"),
    (re.compile(rb"PK\x03\x04"), "a zip archive"),
    (re.compile(rb"%PDF-"), "a PDF"),
    (re.compile(rb"\x89PNG\r\n"), "an image"),
    (re.compile(rb"PAR1"), "a Parquet table"),
    (re.compile(rb"SQLite format 3\x00"), "a database"),
    (re.compile(rb"-----BEGIN [A-Z ]+-----"), "a key or certificate in PEM"),
    (re.compile(rb"\s*<(!doctype html|html)[\s>]", re.IGNORECASE), "a web page"),
)
_LOG: Final = re.compile(rb'\{"entry":\{[^\n]*\},"envelope":(null|"[A-Za-z0-9+/=]*"),"index":[0-9]+\}\n|\{"checkpoint":"[^"\n]*"\}\n')


def kind_of(data: bytes) -> tuple[str, str] | None:
    """The schema (or file) and the words for a document that can be recognised; none for any other."""
    for pattern, words in _MAGIC:
        if pattern.match(data):
            return "", words
    value = _value(data)
    schema = value.get("schema")
    if isinstance(schema, str) and schema in SCHEMAS:
        return schema, SCHEMAS[schema]
    if _LOG.match(data):
        return "log.jsonl", "an exported log"
    if set(value) == {"payload", "payloadType", "signatures"}:
        return "DSSE", "a signed envelope without its bundle"
    if isinstance(value.get("task_id"), str) and "utility" in value:
        return "episodes.jsonl", "a ledger of episodes"
    return None


def require_kind(data: bytes, wanted: Kind, name: str) -> None:
    """Refuse a document that is certainly of another kind.

    Args:
        data: the file's bytes.
        wanted: what it must be.
        name: the argument as the person gave it, such as `--trust log.jsonl`.

    Raises:
        Malformed: naming the argument, and what the file is.
    """
    schema, remedy = _WANTED[wanted]
    found = kind_of(data)
    if found is not None and found[0] != schema:
        named = f" ({found[0]})" if found[0] else ""
        raise Malformed("wrong-document", f"{name} is no {wanted}: this is {found[1]}{named}", remedy=remedy)


def _value(data: bytes) -> dict[str, Any]:
    """The JSON object that the data, or their first line, hold; empty where they hold none."""
    for text in (data if len(data) <= LARGEST else b"", data.partition(b"\n")[0]):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else {}
    return {}
