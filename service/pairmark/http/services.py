"""What the routes work with, put together once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Request

from pairmark.adapters.ledger_store import LedgerStore
from pairmark.adapters.ledgers.documents import LoadedPolicy, read_policy, shipped_policies
from pairmark.adapters.ledgers.limits import Limits
from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.adapters.sql.database import SqlDatabase
from pairmark.app.ports import Clock, NewId
from pairmark.domain.errors import Malformed, shown
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

    def policies(self, name: str) -> LoadedPolicy:
        """A policy by name. Never by path: names come from requests."""
        if name not in shipped_policies():
            raise Malformed(
                "unknown-policy", f"expected one of {', '.join(shipped_policies())}, found {shown(name)}", remedy="name one of them"
            )
        return read_policy(name)


def build_services(settings: Settings) -> Services:
    """The real parts; makes the data folder."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return Services(
        settings=settings,
        database=SqlDatabase.at(settings.database),
        ledgers=LedgerStore(settings.data_dir, limits=Limits(ledger=settings.max_ledger_bytes)),
        quality=great_expectations_gate(),
        clock=lambda: datetime.now(UTC),
        new_id=new_id,
        turns=Turns(settings.parallel_checks, settings.waiting_checks),
    )


def new_id(kind: str) -> str:
    """A new id, such as `run-` and 32 random hex digits."""
    return f"{kind}-{secrets.token_hex(16)}"


def services_of(request: Request) -> Services:
    """The parts of the application that serves this request."""
    services = request.app.state.services
    if not isinstance(services, Services):
        raise TypeError("expected an application made by create_app")
    return services


WithServices = Annotated[Services, Depends(services_of)]
