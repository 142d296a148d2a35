"""What an operator may set, by environment variables `PAIRMARK_*`; every default serves one machine, offline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pairmark.domain.errors import Malformed, shown

MIB = 1024 * 1024
PREFIX = "PAIRMARK_"
WORDS = {"sign_in": ("auto", "required"), "webhook_private_addresses": ("refuse", "allow")}
"""Settings that are one of a few words, the default first."""


@dataclass(frozen=True)
class Settings:
    """The service's settings; each is the variable `PAIRMARK_` and its name in capitals.

    Attributes:
        data_dir: folder of the database file (unless `database_url` names another) and of the ledger objects.
        database_url: SQLAlchemy URL of the database; by default `pairmark.db` in `data_dir`, which migrates itself.
        database_connections: the most connections of one process to a PostgreSQL database.
        store_url: where ledger objects lie, `file:///folder` or `s3://bucket/prefix`; by default in `data_dir`.
        store_endpoint: URL of an S3-compatible server, where `store_url` names none.
        store_seconds: how long a request to an S3 server is tried again before the answer is 503.
        keys: folder of the log's keys and its high-water mark; by default `keys` in `data_dir`. An empty log gets keys at its first start.
        log_origin: name of a log whose keys are made at its first start; a random one by default.
        sign_in: `auto` wants no key on loopback with SQLite as long as nobody made one; `required` always wants one.
        oidc_issuer: URL of an identity provider whose bearer tokens are taken beside API keys; none by default.
        oidc_audience: what those tokens must be meant for; by default `pairmark`.
        oidc_jwks_url: where the provider's keys are; by default what its discovery document says.
        requests_per_minute: requests of one API key, or of one member's tokens, that each process takes in a minute.
        anonymous_requests_per_minute: requests without a key from one address, where keys are wanted.
        webhook_private_addresses: `allow` lets webhooks lead to private addresses and plain HTTP; by default they may not.
        host: address to listen on.
        port: port to listen on; 0 lets the system choose.
        workers: processes that serve together on one address.
        log_format: `text` for people, `json` for one object per line.
        otlp_endpoint: URL of an OpenTelemetry collector that traces are sent to (extra `telemetry`); by default nothing is sent anywhere.
        max_connections: connections at the same time, in each process.
        max_header_bytes: a request's line and headers.
        header_seconds: how long a request's head may take to arrive.
        upload_seconds: how long a whole body may take to arrive.
        max_document_bytes: a JSON body.
        max_upload_bytes: a ledger as sent, compressed or not.
        max_ledger_bytes: a ledger after decompression.
        body_seconds: how long to wait for the next part of a body.
        partial_uploads: the most uploads in pieces that one organisation may have unfinished.
        partial_upload_seconds: how long an unfinished upload waits for its next piece before it is forgotten.
        page_items: items in a page where the request does not say.
        max_page_items: the most that a request may ask for.
        wait_episodes: certifications over more episodes than this are queued (202) instead of answered at once.
        parallel_checks: verdicts, and ledgers, worked on at the same time; each needs memory for its ledgers.
        waiting_checks: how many more may wait for a turn before the service answers that it is busy (503).
        key_lease_seconds: after this, an Idempotency-Key whose request died may be used again.
        key_days: how long an Idempotency-Key and its answer are kept.
        shutdown_seconds: how long running requests may take to finish when the server is told to stop.
    """

    data_dir: Path = Path("pairmark-data")
    database_url: str | None = None
    database_connections: int = 20
    store_url: str | None = None
    store_endpoint: str | None = None
    store_seconds: int = 30
    keys: Path | None = None
    log_origin: str | None = None
    sign_in: str = "auto"
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_jwks_url: str | None = None
    requests_per_minute: int = 1200
    anonymous_requests_per_minute: int = 300
    webhook_private_addresses: str = "refuse"
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    log_format: str = "text"
    otlp_endpoint: str | None = None
    max_connections: int = 1000
    max_header_bytes: int = 32 * 1024
    header_seconds: int = 10
    upload_seconds: int = 3600
    max_document_bytes: int = 16 * MIB
    max_upload_bytes: int = 1024 * MIB
    max_ledger_bytes: int = 8 * 1024 * MIB
    body_seconds: int = 60
    partial_uploads: int = 16
    partial_upload_seconds: int = 24 * 3600
    page_items: int = 100
    max_page_items: int = 1000
    wait_episodes: int = 1_000_000
    parallel_checks: int = 2
    waiting_checks: int = 16
    key_lease_seconds: int = 120
    key_days: int = 30
    shutdown_seconds: int = 30

    @property
    def webhook_private(self) -> bool:
        """Whether webhooks may lead into private networks."""
        return self.webhook_private_addresses == "allow"

    @property
    def database(self) -> str:
        """The database's URL."""
        return self.database_url if self.database_url is not None else f"sqlite:///{(self.data_dir / 'pairmark.db').absolute()}"

    @property
    def keys_dir(self) -> Path:
        """The folder of keys."""
        return self.keys if self.keys is not None else self.data_dir / "keys"

    @property
    def embedded(self) -> bool:
        """True if the database is the service's own file, which nobody else migrates."""
        return self.database_url is None

    def environment(self) -> dict[str, str]:
        """The variables that give these settings to another process; those at their default are left out."""
        return {
            f"{PREFIX}{each.name.upper()}": str(getattr(self, each.name))
            for each in fields(self)
            if getattr(self, each.name) != each.default
        }

    @classmethod
    def of(cls, environment: Mapping[str, str], **given: Any) -> Settings:
        """Settings from environment variables; what is `given` and not None wins.

        Raises:
            Malformed: a variable that is not what it should be, named.
        """
        values: dict[str, Any] = {}
        for each in fields(cls):
            variable = PREFIX + each.name.upper()
            text = environment.get(variable)
            if text is not None and text.strip():
                values[each.name] = _read(variable, each.type, text.strip())
        for name, words in WORDS.items():
            if values.get(name, words[0]) not in words:
                raise Malformed(
                    "bad-setting", f"expected {PREFIX}{name.upper()} to be {' or '.join(words)}, found {shown(values[name])}",
                    remedy="set it to one of them",
                )
        values.update({name: value for name, value in given.items() if value is not None})
        return replace(cls(), **values)


def _read(variable: str, kind: object, text: str) -> object:
    if kind != "int":
        return Path(text) if str(kind).startswith("Path") else text
    try:
        number = int(text)
    except ValueError:
        number = -1
    lowest = 0 if variable in (f"{PREFIX}PORT", f"{PREFIX}WAIT_EPISODES", f"{PREFIX}WAITING_CHECKS") else 1
    if not lowest <= number <= 2**53 - 1 or (variable == f"{PREFIX}PORT" and number > 65_535):
        raise Malformed(
            "bad-setting", f"expected {variable} to be a whole number of at least {lowest}, found {shown(text)}",
            remedy=f"set {variable} to a number, or leave it out",
        )
    return number
