"""Calls that need nothing said, such as publishing or having a delivery tried again, take no body for an empty object."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from pairmark.http.documented import BODIES
from pairmark.http.route_table import calls_of
from tests.access.filled import OTHER, Filled
from tests.service.serving import Process, problem_in

TYPES: list[Mapping[str, str]] = [{}, {"Content-Type": "application/json"}, {"Content-Type": "application/x-www-form-urlencoded"}]


@pytest.mark.parametrize("content_type", TYPES, ids=["no type", "json", "a form, as curl -d ''"])
def test_publishing_without_a_body_is_publishing_with_an_empty_object(fresh: Filled, content_type: Mapping[str, str]) -> None:
    token, certificate = fresh.tokens[OTHER, "submitter"], fresh.ids["private certificate"]
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "once", **content_type}
    answer = fresh.service.call("POST", f"/v1/certificates/{certificate}/publish", body=b"", headers=headers)
    assert answer.status_code == 200, answer.text
    assert fresh.call(None, "GET", f"/v1/certificates/{certificate}").status_code == 200
    again = fresh.call(token, "POST", f"/v1/certificates/{certificate}/publish", {}, Idempotency_Key="once")
    assert (again.headers["idempotency-replayed"], again.json()) == ("true", answer.json())


def test_a_body_that_is_there_is_still_read_strictly(fresh: Filled) -> None:
    path = f"/v1/certificates/{fresh.ids['private certificate']}/publish"
    sent = {"Authorization": f"Bearer {fresh.tokens[OTHER, 'submitter']}"}
    problem_in(fresh.service.call("POST", path, body=b"{}", headers=sent), 415, "unsupported-media-type")
    json = {**sent, "Content-Type": "application/json"}
    problem_in(fresh.service.call("POST", path, body=b" ", headers=json), 400, "not-json")
    problem_in(fresh.service.call("POST", path, body=b"{}", headers={**json, "Content-Encoding": "br"}), 415, "unsupported-encoding")
    assert fresh.call(None, "GET", f"/v1/certificates/{fresh.ids['private certificate']}").status_code == 404


def test_a_body_that_has_to_say_something_cannot_be_left_out(fresh: Filled) -> None:
    sent = {"Authorization": f"Bearer {fresh.tokens[OTHER, 'submitter']}"}
    problem_in(fresh.service.call("POST", "/v1/certifications", body=b"", headers=sent), 415, "unsupported-media-type")
    problem_in(fresh.service.call("POST", "/v1/certifications", body=b"", headers={**sent, "Content-Type": "application/json"}), 400, "not-json")


def test_every_post_whose_keys_are_all_optional_says_that_its_body_is(filled: Filled) -> None:
    document = filled.service.get("/openapi.json").json()
    found = {}
    for call in calls_of(filled.service.app):
        body = document["paths"].get(call.path, {}).get(call.method.lower(), {}).get("requestBody")
        schema = {} if body is None else body["content"].get("application/json", {}).get("schema", {})
        if call.method == "POST" and "$ref" in schema:
            model = BODIES[schema["$ref"].rpartition("/")[2]]
            found[call.path] = body["required"]
            assert body["required"] != _takes_nothing(model), call.path
    assert [path.rpartition("/")[2] for path, required in sorted(found.items()) if not required] == ["publish", "plans", "seal", "retry"]


def _takes_nothing(model: type[BaseModel]) -> bool:
    try:
        model.model_validate({})
    except ValidationError:
        return False
    return True


def test_what_the_documentation_says_to_type_publishes(made: tuple[Path, Filled], tmp_path: Path) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl")
    folder, filled = made
    filled.service.app.state.services.database.close()
    served = Process(Path(shutil.copytree(folder, tmp_path / "data")), tmp_path / "log", PAIRMARK_SIGN_IN="required")
    try:
        url = f"{served.url}/v1/certificates/{filled.ids['private certificate']}/publish"
        key = f"Authorization: Bearer {filled.tokens[OTHER, 'submitter']}"
        for words in (["-X", "POST"], ["-d", ""], ["--json", '{"episodes": "private"}']):
            done = subprocess.run([curl, "--silent", "--fail-with-body", *words, url, "-H", key], capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, (words, done.stdout)
            assert '"receipt"' in done.stdout
    finally:
        served.stop()
