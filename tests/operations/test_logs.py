"""Logs name their request, as text and as JSON, and never a secret."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.adapters.telemetry.bound import bound, bound_ids, ids_in
from pairmark.adapters.telemetry.logs import JsonLines, TextLines, log_config
from pairmark.adapters.telemetry.masking import masked, secrets_in
from pairmark.domain.errors import Malformed
from pairmark.domain.world import World
from tests.operations.processes import Server
from tests.service.serving import Service

SECRETS = {
    "a bearer token": "Authorization: Bearer eyJhbGciOi.J9abc-_def.sig",
    "an API key": "took pmk.abcdefgh.Zm9vYmFyYmF6cXV4 from the header",
    "a passphrase": "passphrase='correct-horse'",
    "a password in a URL": "postgresql+psycopg://pairmark:hunter22@db:5432/pairmark",
    "a password of a store": "s3 http://key:s3cr3tpw@store:9000/x",
    "a secret key": "AWS_SECRET_ACCESS_KEY=abcd/efgh+ijkl",
    "a named token": 'json {"token": "abcdef123456"}',
    "a private key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIabcdef\n-----END ENCRYPTED PRIVATE KEY-----",
    "half a private key": "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIabcdef",
    "a note key": "PRIVATE+KEY+example.org+abcd1234+AQIDBA==",
}
PARTS = ("eyJhbGciOi", "Zm9vYmFy", "correct-horse", "hunter22", "s3cr3tpw", "abcd/efgh", "abcdef123456", "MC4CAQAwBQ", "abcd1234")


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_secrets_are_masked_wherever_they_stand(text: str) -> None:
    for said in (text, f"before {text} after", f"{text}, and {text}"):
        shown = masked(said)
        assert "***" in shown
        assert not any(part in shown for part in PARTS), shown


@pytest.mark.parametrize(
    "text",
    [
        "GET /v1/runs/run-0123 200 3.2 ms", "sha256:" + "a" * 64, "expected the key of role log, found none", "http://127.0.0.1:8000/v1",
        "the token ring", "Pairmark serves http://127.0.0.1:8000 from /data",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays_readable(text: str) -> None:
    assert masked(text) == text


def record(message: str, *arguments: object, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("pairmark.http", logging.WARNING, "file.py", 1, message, arguments, None)
    made.__dict__.update(extra)
    return made


@given(st.text(min_size=4, max_size=30).filter(lambda text: "*" not in text and text.strip() == text and "\x00" not in text))
def test_the_value_of_a_secret_variable_is_masked_word_for_word(secret: str) -> None:
    literals = secrets_in({"PAIRMARK_KEY_PASSPHRASE": secret, "HOME": "of nobody"})
    assert secret not in masked(f"found {secret} there".replace("of nobody", ""), literals).replace("found ", "").replace(" there", "")


def test_a_json_line_is_one_object_with_ids_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", 'quo"ted\\secret')
    lines = JsonLines()
    with bound(request_id="r-1", run_id="run-2"):
        text = lines.format(record("cannot open %s\nnor %s", 'quo"ted\\secret', "postgresql://u:hunter22@h/d", status=503))
    found = json.loads(text)
    assert "\n" not in text
    assert found["message"] == "cannot open ***\nnor postgresql://u:***@h/d"
    assert (found["level"], found["logger"], found["request_id"], found["run_id"], found["status"]) == ("warning", "pairmark.http", "r-1", "run-2", 503)
    assert found["time"].endswith("Z")


def test_a_traceback_is_masked_too() -> None:
    try:
        raise ValueError("Bearer abcdefghijkl")
    except ValueError as crash:
        made = record("crashed")
        made.exc_info = (ValueError, crash, crash.__traceback__)
    for lines in (TextLines(), JsonLines()):
        text = lines.format(made)
        assert "ValueError" in text
        assert "abcdefghijkl" not in text


def test_ids_are_bound_and_let_go() -> None:
    assert bound_ids() == {}
    with bound(request_id="a"), bound(run_id="b"):
        assert bound_ids() == {"request_id": "a", "run_id": "b"}
    assert bound_ids() == {}
    run, certificate = "run-" + "0" * 32, "certificate-" + "f" * 32
    assert ids_in(f"/v1/{run}/x/{certificate}") == {"run_id": run, "certificate_id": certificate}
    assert ids_in(f"/v1/{run}0") == {}


def test_a_format_that_is_none_is_refused() -> None:
    with pytest.raises(Malformed, match="PAIRMARK_LOG_FORMAT"):
        log_config("yaml")


@pytest.mark.parametrize(("given_id", "kept"), [("abc-1.2_3", True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ("a\tb", False), ("", False), ("é", False)])
def test_a_request_id_is_taken_if_it_is_one_and_returned(tmp_path: Path, given_id: str, kept: bool) -> None:
    service = Service.at(tmp_path)
    answer = service.get("/healthz", headers={"X-Request-ID": given_id.encode()})  # type: ignore[dict-item]  # bytes, since not all are ASCII
    found = answer.headers["x-request-id"]
    assert (found == given_id) is kept
    assert kept or len(found) == 32
    assert service.get("/no-such-place").headers["x-request-id"] != found


def test_a_served_request_leaves_one_json_line_with_its_ids(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    world = World()
    with Server(tmp_path, PAIRMARK_LOG_FORMAT="json", PAIRMARK_KEY_PASSPHRASE=secret) as server:
        post = httpx.post(
            f"{server.url}/v1/suites", content=world.files()["suite.json"], trust_env=False,
            headers={"Content-Type": "application/json", "X-Request-ID": "mine-1"},
        )  # fmt: skip
        httpx.get(f"{server.url}/v1/suites", headers={"Authorization": "Bearer pmk.abcdefgh.Zm9vYmFyYmF6cXV4"}, trust_env=False)
        made = httpx.post(
            f"{server.url}/v1/runs", json=world.run("benign"), headers={"X-Request-ID": "mine-2"}, trust_env=False
        ).json()
        httpx.get(f"{server.url}/v1/runs/{made['id']}?token=abcdef123456", headers={"X-Request-ID": "mine-3"}, trust_env=False)
        httpx.get(f"{server.url}/healthz", trust_env=False)
        server.stop()
    text = server.log()
    lines = [json.loads(line) for line in text.splitlines()]
    assert {"time", "level", "logger", "message"} <= set.intersection(*({*line} for line in lines))
    (first,) = [line for line in lines if line.get("request_id") == "mine-1"]
    assert (first["method"], first["path"], first["route"], first["status"]) == ("POST", "/v1/suites", "/v1/suites", post.status_code)
    (third,) = [line for line in lines if line.get("request_id") == "mine-3"]
    assert third["run_id"] == made["id"]
    assert third["route"] == "/v1/runs/{run_id}"
    assert not [line for line in lines if line.get("path") == "/healthz"]
    for hidden in (secret, "Zm9vYmFy", "abcdef123456"):
        assert hidden not in text
