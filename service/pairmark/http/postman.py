"""Empties the outbox in one thread of each process: what is due is claimed, told, and noted."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

from pairmark.adapters.webhooks.sending import TIMEOUT_SECONDS, Tried, send
from pairmark.app.errors import Unavailable
from pairmark.app.moments import moment
from pairmark.app.ports import Tables
from pairmark.app.webhook_records import Delivery, Webhook
from pairmark.app.webhooks import noted
from pairmark.domain.errors import one_line
from pairmark.http.services import Services

log = logging.getLogger("pairmark.http")

AT_ONCE = 16
"""Deliveries claimed together, and so how many may be told twice if the process dies among them."""
CLAIM = timedelta(seconds=AT_ONCE * (TIMEOUT_SECONDS * 2 + 5))
IDLE_SECONDS = 5.0


class Postman:
    """One thread, started by `start`. Each delivery is told at least once: receivers tell repetitions by `webhook-id`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Take up nothing more, and wait for what is being told."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                told = self.tell_due()
            except Unavailable as problem:
                log.warning("webhooks wait: %s", problem)
                told = 0
            except Exception:
                log.exception("webhooks wait for the next round")
                told = 0
            if told == 0:
                self._stopping.wait(IDLE_SECONDS)

    def tell_due(self) -> int:
        """Tell what is due now; how many tries that were."""
        parts = self._services
        now = parts.clock()
        with parts.database.reading() as tables:
            waiting = tables.webhooks.any_due(moment(now))
        if not waiting:
            return 0
        taken = parts.database.write(lambda tables: list(tables.webhooks.take(moment(now), moment(now + CLAIM), AT_ONCE)))
        for delivery, webhook in taken:
            if self._stopping.is_set():
                break  # its claim runs out by itself
            self._tell(delivery, webhook)
        return len(taken)

    def _tell(self, delivery: Delivery, webhook: Webhook) -> None:
        parts = self._services
        try:
            tried = send(webhook, delivery, parts.clock(), private=parts.settings.webhook_private)
        except Exception as problem:  # noqa: BLE001 - one bad address must not hold up the others
            tried = Tried(None, one_line(f"{type(problem).__name__}: {problem}", 200))
        after = noted(delivery, tried.status, tried.problem, parts.clock())

        def note(tables: Tables) -> None:
            tables.webhooks.note(after)

        parts.database.write(note)
        if after.problem is not None:
            log.info("webhook %s was not told %s: %s", webhook.id, delivery.id, after.problem)
