"""`pairmark config`: every setting, where it came from, and no secret."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from pairmark.http.described import SECRETS, described, meanings
from pairmark.http.settings import PREFIX, Settings
from tests.cli.running import command


def test_every_setting_is_described_with_its_meaning() -> None:
    names = [each.name for each in fields(Settings)]
    assert set(meanings()) == set(names)
    found = {each.variable: each for each in described({})}
    assert set(found) == {f"{PREFIX}{name.upper()}" for name in names} | set(SECRETS)
    assert all(len(each.meaning) > 10 for each in found.values())
    assert {each.source for each in found.values()} == {"default"}


def test_values_say_where_they_come_from() -> None:
    found = {each.name: each for each in described({"PAIRMARK_PORT": "9000", "PAIRMARK_HOST": "  "})}
    assert (found["port"].value, found["port"].source, found["port"].default) == ("9000", "environment", "8000")
    assert (found["host"].value, found["host"].source) == ("127.0.0.1", "default")
    assert found["database_url"].value is None


SECRET = {
    "PAIRMARK_DATABASE_URL": "sqlite:///x?password=hunter22", "PAIRMARK_KEY_PASSPHRASE": "correct-horse", "AWS_ACCESS_KEY_ID": "AKIAabcdefgh",
    "AWS_SECRET_ACCESS_KEY": "abcd/efgh+ijkl", "AWS_SESSION_TOKEN": "FwoGZXIvYXdz", "PAIRMARK_STORE_ENDPOINT": "http://key:s3cr3tpw@store:9000",
    "PAIRMARK_KEY_PIN": "123456-pin",
}  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_command_shows_settings_and_never_a_secret(form: str) -> None:
    done = command("config", "--format", form, environment={**SECRET, "PAIRMARK_PRT": "1", "PAIRMARK_WORKERS": "2"})
    assert done.code == 0, done.err
    for part in ("hunter22", "correct-horse", "AKIA", "abcd/efgh", "FwoG", "s3cr3tpw", "123456-pin"):
        assert part not in done.out + done.err
    assert done.out.count("***") >= 6
    assert "PAIRMARK_PRT is no setting" in done.err
    if form == "json":
        found = {each["variable"]: each for each in json.loads(done.out)}
        assert found["PAIRMARK_WORKERS"] == {
            "name": "workers", "variable": "PAIRMARK_WORKERS", "value": "2", "source": "environment", "default": "1",
            "meaning": "processes that serve together on one address.",
        }


def test_a_bad_setting_is_one_line() -> None:
    done = command("config", environment={"PAIRMARK_PORT": "many"})
    assert (done.code, done.out) == (2, "")
    assert "PAIRMARK_PORT" in done.err


def test_settings_survive_the_way_to_another_process() -> None:
    settings = Settings.of({"PAIRMARK_PORT": "0", "PAIRMARK_LOG_FORMAT": "json", "PAIRMARK_DATA_DIR": "/somewhere/else"}, workers=3)
    assert Settings.of(settings.environment()) == settings
    assert Settings().environment() == {}
