from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from pairmark.adapters.sql.migrate import downgrade, head, upgrade
from pairmark.app.errors import Unavailable
from pairmark.domain.errors import Malformed
from pairmark.domain.world import World
from pairmark.http.app import create_app
from pairmark.http.models import Health, Readiness
from pairmark.http.server import listening_socket
from pairmark.http.settings import Settings
from tests.service.serving import Process, Service, problem_in


def test_health_and_readiness(service: Service) -> None:
    Health.model_validate_json(service.get("/healthz").content)
    assert Readiness.model_validate_json(service.get("/readyz").content).migrations == head()


def test_a_service_that_cannot_store_is_alive_and_not_ready(service: Service) -> None:
    folder = service.app.state.services.settings.data_dir
    (folder / "scratch").rename(folder / "elsewhere")
    assert service.get("/healthz").status_code == 200
    answer = service.get("/readyz")
    problem_in(answer, 503, "store-unavailable")
    assert answer.headers["retry-after"].isdigit()


def test_a_database_taken_back_is_not_ready(service: Service) -> None:
    downgrade(service.app.state.services.settings.database, "base")
    problem_in(service.get("/readyz"), 503, "not-migrated")


def test_an_upload_that_cannot_be_stored_is_503_and_leaves_nothing(service: Service, world: World) -> None:
    service.register(world)
    run_id = service.post("/v1/runs", world.run("benign")).json()["id"]
    folder = service.app.state.services.settings.data_dir
    (folder / "scratch").rename(folder / "elsewhere")
    problem_in(service.upload(run_id, world.files()["benign/episodes.jsonl"]), 503, "store-unavailable")
    (folder / "elsewhere").rename(folder / "scratch")
    assert service.get(f"/v1/runs/{run_id}").json()["state"] == "announced"
    assert service.upload(run_id, world.files()["benign/episodes.jsonl"]).status_code == 201


def test_the_embedded_database_migrates_itself_another_one_does_not(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'other.db'}"
    with pytest.raises(Unavailable) as refused:
        create_app(Settings(data_dir=tmp_path, database_url=url))
    assert "pairmark db upgrade" in str(refused.value)
    upgrade(url)
    assert create_app(Settings(data_dir=tmp_path, database_url=url)) is not None


def test_settings_come_from_the_environment_and_the_caller_wins(tmp_path: Path) -> None:
    environment = {"PAIRMARK_DATA_DIR": str(tmp_path), "PAIRMARK_PORT": "9000", "PAIRMARK_MAX_PAGE_ITEMS": "7", "PAIRMARK_HOST": " "}
    settings = Settings.of(environment, port=9001)
    assert (settings.data_dir, settings.port, settings.max_page_items, settings.host) == (tmp_path, 9001, 7, "127.0.0.1")
    assert Settings.of({}) == Settings()
    assert Settings.of({}, data_dir=None, host=None) == Settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("PAIRMARK_PORT", "x"), ("PAIRMARK_PORT", "70000"), ("PAIRMARK_PORT", "-1"), ("PAIRMARK_MAX_PAGE_ITEMS", "0"), ("PAIRMARK_BODY_SECONDS", "1.5")],
)
def test_a_setting_that_is_none_is_named(variable: str, value: str) -> None:
    with pytest.raises(Malformed) as refused:
        Settings.of({variable: value})
    assert variable in str(refused.value)


def test_defaults_serve_this_machine_only() -> None:
    assert Settings().host == "127.0.0.1"
    assert Settings().embedded


def test_a_served_process_starts_answers_and_stops(tmp_path: Path) -> None:
    import httpx

    server = Process(tmp_path / "data", tmp_path / "log")
    try:
        assert server.url.startswith("http://127.0.0.1:")
        answer = httpx.get(f"{server.url}/readyz")
        assert answer.status_code == 200
        assert "server" not in answer.headers
        assert server.stop() in (0, -15)
    finally:
        server.kill()


def test_an_address_in_use_is_said_plainly() -> None:
    with closing(listening_socket("127.0.0.1", 0)) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable) as refused:
            listening_socket("127.0.0.1", port)
    assert str(port) in str(refused.value)
    with pytest.raises(Unavailable):
        listening_socket("192.0.2.1", 0)
