"""What operators ask of the database is answered alike by both kinds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pairmark.adapters.objects.collecting import collect
from pairmark.adapters.sql.counts import counts_of
from pairmark.adapters.sql.migrate import downgrade, head
from pairmark.adapters.sql.ready import require_head
from pairmark.adapters.sql.references import named_in
from pairmark.app.errors import Unavailable
from pairmark.domain.world import World
from tests.databases import KINDS, url_of, using
from tests.ledgers.making import digest
from tests.service.serving import Service

pytestmark = pytest.mark.parametrize("which", KINDS)


def test_readiness_counts_and_collection(which: str, tmp_path: Path) -> None:
    with using(which):
        service = Service.at(tmp_path)
        parts = service.app.state.services
        world = World()
        assert counts_of(parts.database).verdicts == {"certified": 0, "quarantined": 0, "refused": 0}
        assert service.certify(service.submit(world)).status_code == 201
        counts = counts_of(parts.database)
        with parts.database.reading() as tables:
            assert counts.log_entries == tables.log.head().size
        assert (counts.verdicts["certified"], counts.waiting, counts.given_up) == (1, 0, 0)
        assert service.get("/readyz").json()["migrations"] == head()
        assert "pairmark_database_up 1.0" in service.get("/metrics").text
        objects = parts.ledgers.objects
        kept, stray = {each.digest for each in objects.kept()}, digest("stray")
        assert len(kept) == 4, "three ledgers and a list of flips"
        objects.put_if_absent(stray, b"left")
        assert named_in(parts.database, [*kept, stray]) == kept
        later = time.time() + 2 * 24 * 3600
        found = collect(objects, lambda asked: named_in(parts.database, asked), now=later, delete=True)
        assert ([each.digest for each in found.unnamed], found.removed) == ([stray], 1)
        assert {each.digest for each in objects.kept()} == kept
        parts.database.close()


def test_a_database_that_is_not_migrated_is_named(which: str, tmp_path: Path) -> None:
    with using(which):
        url = url_of(tmp_path)
        if which == "postgresql":
            downgrade(url, "base")
        with pytest.raises(Unavailable, match="pairmark db upgrade"):
            require_head(url)
