"""Publishing, organisations, the audit log and webhooks from the command line, on a service that wants keys."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pairmark.cli.main import main
from pairmark.http.access import COOKIE
from tests.access.filled import MINE, OTHER, Filled
from tests.service.serving import Process


@pytest.fixture
def served(made: tuple[Path, Filled], tmp_path: Path) -> Iterator[str]:
    folder, filled = made
    filled.service.app.state.services.database.close()
    process = Process(Path(shutil.copytree(folder, tmp_path / "data")), tmp_path / "log", PAIRMARK_SIGN_IN="required")
    yield process.url
    process.stop()


def test_everything_about_people_has_a_command(
    served: str, made: tuple[Path, Filled], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = made[1]

    def say(key: str | None, *words: str, code: int = 0) -> str:
        if key is None:
            monkeypatch.delenv("PAIRMARK_API_KEY", raising=False)
        else:
            monkeypatch.setenv("PAIRMARK_API_KEY", key)
        assert main([*words, "--service", served]) == code
        seen = capsys.readouterr()
        return seen.out + seen.err

    owner, admin, certificate = filled.tokens[OTHER, "submitter"], filled.tokens[MINE, "admin"], filled.ids["private certificate"]
    assert "PAIRMARK_API_KEY" in say(None, "publish", certificate, code=2)
    assert httpx.get(f"{served}/v1/certificates/{certificate}").status_code == 404
    assert f"published  {certificate}" in say(owner, "publish", certificate, "--episodes", "private")
    assert httpx.get(f"{served}/v1/certificates/{certificate}").status_code == 200
    assert httpx.get(f"{served}/v1/runs/{filled.ids['private attacked']}/episodes").status_code in (403, 404)

    assert say(None, "people", "whoami").startswith("nobody:")
    assert say(owner, "people", "whoami").endswith("; may read, submit\n")
    founded = say(admin, "people", "found", "Third lab").strip()
    assert f"{founded}  Third lab" in say(admin, "people", "organisations")
    assert "POST /v1/organisations" in say(admin, "people", "audit")
    assert "/publish" not in say(admin, "people", "audit", "--action", "POST /v1/organisations")
    lines = say(admin, "people", "keys").splitlines()
    assert next(line for line in lines if filled.ids["submitter key of local"] in line).endswith("  read, submit")
    assert "pairmark people list" in say(admin, "people", "remove", "member-none", code=2)
    assert "--expires" in say(admin, "people", "key", "x", "--expires", "tomorrow", code=2)

    made_hook, secret = say(admin, "webhooks", "add", "https://93.184.216.34/hook", "--event", "refused").split()
    assert secret.startswith("whsec_")
    assert f"{made_hook}  refused" in say(admin, "webhooks", "list")
    assert say(admin, "webhooks", "deliveries", made_hook).split() == ["delivery", "event", "state", "tries"]
    assert "pairmark webhooks deliveries" in say(admin, "webhooks", "retry", made_hook, "none", code=2)
    assert "removed at" in say(admin, "webhooks", "remove", made_hook)

    shown = httpx.get(f"{served}/people", headers={"Cookie": f"{COOKIE}={admin}", "Accept": "text/html"}).text
    assert "1 rows" not in shown
    assert "None" not in shown
    assert "<td>read, submit</td>" in shown


def test_an_admin_key_for_a_folder_without_a_database_names_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["people", "admin-key", "--data", str(tmp_path / "none")]) == 69
    said = capsys.readouterr().err
    assert "--data" in said
    assert "[no-database]" in said
    assert not (tmp_path / "none").exists()
