"""`certificate.json` (`pairmark/bundle/v1`): a certificate with everything that shows, offline, that it was released.

Its bytes are RFC 8785 bytes, so that no byte of the file can change without notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, ValidationError

from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.documents.base import Strict, malformed_from
from pairmark.domain.errors import Malformed
from pairmark.provenance.checkpoint import Receipt, parse_receipt
from pairmark.provenance.dsse import Envelope, EnvelopeShape, decoded
from pairmark.provenance.entries import Entry, parse_entry
from pairmark.provenance.exact import exact_bytes, read_exact

MAX_BUNDLE_BYTES = 64_000_000
SCHEMA = "pairmark/bundle/v1"


class _Logged(Strict):
    envelope: EnvelopeShape
    entry: dict[str, JsonValue]
    receipt: str


class _Bundle(_Logged):
    schema_: Literal["pairmark/bundle/v1"] = Field(alias="schema")
    statuses: Annotated[tuple[_Logged, ...], Field(max_length=1000)]
    svr: EnvelopeShape


@dataclass(frozen=True)
class Logged:
    """A signed envelope with the log entry that names it, as hashed, and where it stands in the log (tlog-proof bytes)."""

    envelope: Envelope
    entry: bytes
    receipt: bytes

    def value(self) -> dict[str, Any]:
        """As a JSON value."""
        return {"envelope": self.envelope.value(), "entry": read_exact(self.entry, "a log entry"), "receipt": self.receipt.decode()}

    @cached_property
    def envelope_digest(self) -> str:
        """Digest of the envelope's bytes."""
        return digest_of_bytes(self.envelope.content())

    @cached_property
    def parsed_entry(self) -> Entry:
        """The entry's model. Raises Malformed."""
        return parse_entry(self.entry)

    @cached_property
    def parsed_receipt(self) -> Receipt:
        """The receipt's parts. Raises Malformed."""
        return parse_receipt(self.receipt)


@dataclass(frozen=True)
class Bundle:
    """A certificate, the status changes known when it was written, and the SVR envelope beside it."""

    certificate: Logged
    svr: Envelope
    statuses: tuple[Logged, ...] = ()

    def content(self) -> bytes:
        """The file: RFC 8785 bytes, without a newline."""
        return exact_bytes(
            {
                "schema": SCHEMA,
                **self.certificate.value(),
                "statuses": [status.value() for status in self.statuses],
                "svr": self.svr.value(),
            }
        )


def parse_bundle(data: bytes, *, file: str | None = None) -> Bundle:
    """Read a bundle: its form only, no signature is checked.

    Raises:
        Malformed: too large, not RFC 8785 bytes, another shape, unknown keys, base64 that is not canonical, an entry or
            receipt that cannot be read.
    """
    if len(data) > MAX_BUNDLE_BYTES:
        raise Malformed(
            "too-large", f"expected a bundle of at most {MAX_BUNDLE_BYTES} bytes, found {len(data)}", file, remedy="fetch it again"
        )
    value = read_exact(data, "a certificate bundle", file=file)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise Malformed("not-a-bundle", f"expected a certificate bundle ({SCHEMA})", file, remedy="give certificate.json")
    try:
        found = _Bundle.model_validate_json(data)
    except ValidationError as problem:
        raise malformed_from(problem, data, file) from None
    return Bundle(
        _logged(found, "", file),
        _decoded(found.svr, "/svr", file),
        tuple(_logged(item, f"/statuses/{number}", file) for number, item in enumerate(found.statuses)),
    )


def _decoded(found: EnvelopeShape, pointer: str, file: str | None) -> Envelope:
    try:
        return decoded(found)
    except Malformed as problem:
        raise problem.located(file=file, pointer=pointer) from None


def _logged(found: _Logged, pointer: str, file: str | None) -> Logged:
    envelope = _decoded(found.envelope, f"{pointer}/envelope", file)
    try:
        logged = Logged(envelope, exact_bytes(found.entry), found.receipt.encode())
        _ = logged.parsed_entry
    except Malformed as problem:
        raise problem.located(file=file, pointer=f"{pointer}/entry") from None
    try:
        _ = logged.parsed_receipt
    except Malformed as problem:
        raise problem.located(file=file, pointer=f"{pointer}/receipt") from None
    return logged


def bundle_bytes(certificate: Logged, svr: Envelope, statuses: Sequence[Logged] = ()) -> bytes:
    """The bytes of `certificate.json`.

    Raises:
        Malformed: what was given does not make a bundle that can be read back.
    """
    content = Bundle(certificate, svr, tuple(statuses)).content()
    parse_bundle(content)
    return content
