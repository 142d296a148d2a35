"""What the routes work with, put together once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Request

from pairmark.adapters.ledger_store import LedgerStore
from pairmark.adapters.ledgers.documents import LoadedPolicy, read_policy, shipped_policies
from pairmark.adapters.ledgers.limits import Limits
from pairmark.adapters.log.mark import HighWaterMark
from pairmark.adapters.log.publisher import Publisher
from pairmark.adapters.log.signing import KeySigning, open_keys
from pairmark.adapters.objects.opening import open_store
from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.adapters.sql.database import SqlDatabase
from pairmark.app.errors import NotPermitted
from pairmark.app.log_writes import log_trust_roots
from pairmark.app.ownership import require_own_certificate
from pairmark.app.ports import Clock, NewId, Tables
from pairmark.domain.access import LOCAL, Principal
from pairmark.domain.errors import Malformed, shown
from pairmark.http.access import Access
from pairmark.http.settings import Settings
from pairmark.http.turns import Turns
from pairmark.rules.base import QualityGate


@dataclass(frozen=True, eq=False)
class Services:
    """The parts behind the routes."""

    settings: Settings
    database: SqlDatabase
    ledgers: LedgerStore
    quality: QualityGate
    clock: Clock
    new_id: NewId
    turns: Turns
    signing: KeySigning
    publisher: Publisher
    made_keys: bool
    access: Access
    principal: Principal = LOCAL

    def require_may_end(self, tables: Tables, certificate_id: str) -> None:
        """Refuse to revoke or supersede another organisation's certificate, but for whoever runs the service."""
        if not self.principal.operates:
            require_own_certificate(tables, certificate_id)

    def everywhere(self) -> Services:
        """The same, seeing every organisation's records. Only for the organisation that runs the service, to end what rests on a defect."""
        return replace(self, database=self.database.acting(replace(self.database.actor, everywhere=True)))

    def require_operator(self, doing: str) -> None:
        """Refuse callers whose organisation does not run the service."""
        if not self.principal.operates:
            raise NotPermitted(
                "not-the-operator", f"expected a caller of the organisation that runs the service to {doing}, found another", "ask the operator"
            )

    def policies(self, name: str) -> LoadedPolicy:
        """A policy by name. Never by path: names come from requests."""
        if name not in shipped_policies():
            raise Malformed(
                "unknown-policy", f"expected one of {', '.join(shipped_policies())}, found {shown(name)}", remedy="name one of them"
            )
        return read_policy(name)


def build_services(settings: Settings) -> Services:
    """The real parts over a migrated database; makes the data folder, and keys for a log that is empty.

    What a killed service had logged and not published is published here.

    Raises:
        Malformed: keys that cannot be used.
        Unavailable: no keys, or a database that does not extend what was signed before.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    ledgers = open_store(
        settings.store_url, settings.data_dir, endpoint=settings.store_endpoint, retry_seconds=settings.store_seconds,
        limits=Limits(ledger=settings.max_ledger_bytes),
    )  # fmt: skip
    database = SqlDatabase.at(settings.database, settings.database_connections)
    try:
        opened = open_keys(settings.keys_dir, may_make=lambda: _nothing_logged(database), origin=settings.log_origin)
        publisher = Publisher(database, opened.signing, HighWaterMark(settings.keys_dir, opened.signing.origin))
        publisher.recover()
        log_trust_roots(database, opened.signing.chain, datetime.now(UTC))
        publisher.publish()
    except BaseException:
        database.close()
        raise
    database.before_logging, database.after_logging = publisher.require_publishable, publisher.publish
    return Services(
        settings=settings,
        database=database,
        ledgers=ledgers,
        quality=great_expectations_gate(),
        clock=now,
        new_id=new_id,
        turns=Turns(settings.parallel_checks, settings.waiting_checks),
        signing=opened.signing,
        publisher=publisher,
        made_keys=opened.made,
        access=Access.of(settings, database, now),
    )


def _nothing_logged(database: SqlDatabase) -> bool:
    with database.reading() as tables:
        return tables.log.head().size == 0


def now() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


def new_id(kind: str) -> str:
    """A new id, such as `run-` and 32 random hex digits."""
    return f"{kind}-{secrets.token_hex(16)}"


def services_of(request: Request) -> Services:
    """The parts of the application that serves this request, with the database as the request's caller sees it.

    Raises:
        NotSignedIn, NotPermitted, TooManyRequests: a caller who may not make this call.
    """
    services = request.app.state.services
    if not isinstance(services, Services):
        raise TypeError("expected an application made by create_app")
    principal = services.access.admit(request)
    request.state.principal = principal
    return replace(services, database=services.database.acting(services.access.actor(request, principal)), principal=principal)


WithServices = Annotated[Services, Depends(services_of)]
