"""What became of a certificate: the fold over the log entries about it, up to any tree size."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.app.log_read import newest_checkpoint
from pairmark.app.ports import Tables
from pairmark.app.read_bundle import release_of
from pairmark.domain.errors import Malformed, NotFound
from pairmark.provenance.entries import parse_entry
from pairmark.provenance.status import Standing, fold


@dataclass(frozen=True)
class CertificateStanding:
    """A certificate's standing within the first `size` entries of the log."""

    certificate: str
    size: int
    standing: Standing


def standing_of(tables: Tables, certificate_id: str) -> Standing:
    """As it is now, published or not.

    Raises:
        NotFound: no such certificate.
        Conflict: it was never signed.
    """
    release_of(tables, certificate_id)
    return _folded(tables, certificate_id, tables.log.head().size)


def standing_at(tables: Tables, certificate_id: str, size: int | None) -> CertificateStanding:
    """As it was when the published log had `size` entries; by default, all of them.

    Raises:
        NotFound: no such certificate, or it was released later.
        Malformed: a size that was not published.
    """
    index, published = release_of(tables, certificate_id).index, newest_checkpoint(tables).size
    wanted = published if size is None else size
    if not 0 <= wanted <= published:
        raise Malformed("invalid-parameter", f"expected a tree size up to the published {published}, found {wanted}", remedy="ask for a published tree")
    if index >= wanted:
        raise NotFound(
            "not-released", f"expected {certificate_id} among the first {wanted} log entries, found it at index {index}", "ask for a larger tree"
        )
    return CertificateStanding(certificate_id, wanted, _folded(tables, certificate_id, wanted))


def _folded(tables: Tables, certificate_id: str, size: int) -> Standing:
    entries = [(record.index, parse_entry(record.entry)) for record in tables.log.about(certificate_id) if record.index < size]
    return fold(entries)[certificate_id]
