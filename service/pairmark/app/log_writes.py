"""What is logged of runs and disproofs, in the transaction that stores it; and counting announced runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pairmark.app.moments import moment
from pairmark.app.ports import Database, Tables
from pairmark.app.records import Seal, StoredRun
from pairmark.domain.canonical import digest_of, digest_of_bytes
from pairmark.provenance.entries import Announcement, Disproved, Sealed, TrustRooted, entry_bytes
from pairmark.provenance.registrations import Registered, names_of, registered, system_key
from pairmark.provenance.trust import TrustChain

ArmName = Literal["benign", "attacked"]


def group_of(suite: str, system: str, arm: str) -> str:
    """What announcements of one system on one suite and arm are found by."""
    return digest_of({"suite": suite, "system": system, "arm": arm})


def log_announcement(tables: Tables, run: StoredRun, document: Mapping[str, Any]) -> None:
    """Log a run as announced; `document` is the announcement as written."""
    arm: ArmName = "benign" if run.arm == "benign" else "attacked"
    system = system_key(document)
    body = Announcement(
        run=run.id, document=run.announcement, suite=run.suite, system=system, arm=arm, after_the_fact=run.after_the_fact, at=run.created_at
    )
    tables.log.append(entry_bytes(body), None, (run.id, group_of(run.suite, system, arm)))


def log_seal(tables: Tables, run_id: str, seal: Seal) -> None:
    """Log a run's final document and ledger."""
    body = Sealed(run=run_id, document=seal.document, ledger=seal.ledger, count=seal.count, at=seal.created_at)
    tables.log.append(entry_bytes(body), None, (run_id,))


def log_disproof(tables: Tables, certification: str, evidence: str, at: str) -> None:
    """Log a reviewer's evidence against the held finding of a certification."""
    tables.log.append(entry_bytes(Disproved(certification=certification, evidence=evidence, at=at)), None, (certification,))


def log_trust_roots(database: Database, chain: TrustChain, now: datetime) -> None:
    """Log the versions of the trust root that are not logged yet."""

    def missing(tables: Tables) -> list[tuple[int, bytes]]:
        versions = [(root.version, envelope.content()) for root, envelope in zip(chain.roots, chain.envelopes, strict=True)]
        return [(version, envelope) for version, envelope in versions if not tables.log.about(_trust_name(version))]

    def add(tables: Tables) -> None:
        for version, envelope in missing(tables):
            body = TrustRooted(version=version, envelope=digest_of_bytes(envelope), at=moment(now))
            tables.log.append(entry_bytes(body), envelope, (_trust_name(version),))

    with database.reading() as tables:
        wanted = missing(tables)
    if wanted:
        database.write(add)


def _trust_name(version: int) -> str:
    return f"trust-root-{version}"


def count_announced(tables: Tables, run: Mapping[str, Any]) -> Registered:
    """Announced runs of a run's system on its suite and arm, and those that left open whether they are, up to the end of the log."""
    names = names_of(run)
    groups = [group_of(run["suite"]["digest"], key, run["arm"]) for key in names.open_keys()]
    return registered(names, *tables.log.registered(groups))
