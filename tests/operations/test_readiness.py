"""`/readyz` names each part that is not ready, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairmark.adapters.sql.migrate import downgrade, head, upgrade
from pairmark.app.errors import Unavailable
from tests.service.serving import Service, problem_in


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service.at(tmp_path)


def test_every_part_is_named(service: Service) -> None:
    assert service.get("/readyz").json() == {"status": "ready", "database": "ok", "migrations": head(), "store": "ok", "signer": "ok"}


def test_each_part_that_is_not_ready_is_named_with_what_to_do(service: Service, tmp_path: Path) -> None:
    (tmp_path / "scratch").rename(tmp_path / "elsewhere")
    downgrade(f"sqlite:///{tmp_path / 'pairmark.db'}", "base")
    problem = problem_in(service.get("/readyz"), 503, "store-unavailable")
    said = [each.detail for each in problem.errors]
    assert [text.partition(":")[0] for text in said] == ["store", "migrations"]
    assert "pairmark db upgrade" in said[1]
    upgrade(f"sqlite:///{tmp_path / 'pairmark.db'}")
    (tmp_path / "elsewhere").rename(tmp_path / "scratch")
    assert service.get("/readyz").status_code == 200


def test_a_signer_that_may_not_sign_is_named(service: Service) -> None:
    signing = service.app.state.services.signing
    chain = signing.chain.current
    certifier = chain.keys_of("certifier", 0)
    assert certifier
    signing.require_ready(0)
    signing.signers.by_role["certifier"] = signing.signers.of("revoker")
    with pytest.raises(Unavailable, match="certifier key"):
        signing.require_ready(0)
    problem = problem_in(service.get("/readyz"), 503, "key-not-valid")
    assert [each.detail.partition(":")[0] for each in problem.errors] == ["signer"]


def test_a_database_that_does_not_answer_is_named_and_the_process_lives(service: Service, tmp_path: Path) -> None:
    service.app.state.services.database.close()
    for path in tmp_path.glob("pairmark.db*"):
        path.unlink()
    (tmp_path / "pairmark.db").mkdir()
    problem = problem_in(service.get("/readyz"), 503, "database-unavailable")
    assert problem.errors[0].detail.startswith("database: ")
    assert service.get("/healthz").status_code == 200
