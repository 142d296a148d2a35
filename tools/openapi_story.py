"""A story told to a real service in this process, call by call, in which every call has its say; what went out and came back is kept."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from pairmark.http.app import create_app, let_go
from pairmark.http.settings import Settings
from pairmark.resources import data_folder

LONGEST_LIST = 3
LONGEST_TEXT = 1000
NDJSON = "application/x-ndjson"


@dataclass
class Recorder:
    """Makes calls, and keeps the first of each kind."""

    app: FastAPI
    token: str | None = None
    calls: dict[str, Any] = field(default_factory=dict)
    problems: dict[str, Any] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def call(
        self, what: str, place: Mapping[str, str] | None = None, body: Any = None, *, expect: int, parameters: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None, anonymous: bool = False,
    ) -> Any:  # fmt: skip
        """The value of an answer, which must have the status `expect`; `what` is a method and a path with names in braces."""
        method, path = what.split()
        for name, text in (place or {}).items():
            path = path.replace(f"{{{name}}}", text)
        sent = body if isinstance(body, bytes) or body is None else canonical_bytes(body)
        given = {**({"Content-Type": "application/json"} if sent is not None else {}), **(headers or {})}
        if self.token is not None and not anonymous:
            given["Authorization"] = f"Bearer {self.token}"
        answer = asyncio.run(self._ask(method, path, sent, given, parameters))
        if answer.status_code != expect:
            raise RuntimeError(f"expected {what} to answer {expect}, found {answer.status_code}: {answer.text[:500]}")
        value = answer.json() if "json" in answer.headers["content-type"] else answer.text
        if expect >= 400:
            self.problems.setdefault(str(expect), shortened(value))
            return value
        kept = self.calls.setdefault(what, {"answers": {}, "parameters": {}})
        if sent is not None and "request" not in kept:
            kept["request"] = {"type": given["Content-Type"], "value": shortened(body.decode() if isinstance(body, bytes) else body)}
        kept["answers"].setdefault(str(expect), {"type": _type_of(answer), "value": shortened(value)})
        said = {name: value for name, value in (headers or {}).items() if name in ("Upload-Offset", "If-Match")}
        for name, value_given in {**(place or {}), **(parameters or {}), **said}.items():
            kept["parameters"].setdefault(name.lower(), int(value_given) if name == "Upload-Offset" else value_given)
        return value

    async def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], parameters: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://localhost") as client:
            return await client.request(method, path, content=body, headers=headers, params=parameters)


def _type_of(answer: httpx.Response) -> str:
    return str(answer.headers["content-type"].partition(";")[0])


def shortened(value: Any) -> Any:
    """A value with long lists cut after their first items, and long texts of many lines after their first lines."""
    if isinstance(value, dict):
        return {name: shortened(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shortened(each) for each in value[:LONGEST_LIST]]
    if isinstance(value, str) and len(value) > LONGEST_TEXT and "\n" in value:
        return "".join(value.splitlines(keepends=True)[:LONGEST_LIST])
    return value


def tell(folder: Path) -> dict[str, Any]:
    """Everything that was said, by call."""
    app = create_app(Settings(data_dir=folder, wait_episodes=1_000))
    app.state.worker.stop(1.0)  # what is queued is to be seen waiting
    recorder = Recorder(app)
    try:
        _people(recorder)
        _webhooks(recorder)
        certificates = _certificates(recorder)
        _rest(recorder, certificates)
    finally:
        let_go(app)
    return {"calls": dict(sorted(recorder.calls.items())), "problems": dict(sorted(recorder.problems.items()))}


def _people(r: Recorder) -> None:
    r.call("GET /healthz", expect=200)
    r.call("GET /readyz", expect=200)
    found = r.call("POST /v1/members", body={"name": "Ada", "roles": ["admin", "submitter", "maintainer", "reviewer"]}, expect=201)
    key = r.call("POST /v1/keys", body={"label": "laptop", "member": found["id"]}, expect=201)
    r.token = key["token"]
    del r.calls["POST /v1/keys"]  # an example of a key must not look like one that works
    other = r.call("POST /v1/members", body={"name": "Grace", "roles": ["reader"]}, expect=201)
    r.call("GET /v1/me", expect=200)
    r.call("POST /v1/organisations", body={"name": "Another lab"}, expect=201)
    r.call("GET /v1/organisations", expect=200)
    r.call("GET /v1/members", expect=200)
    place = {"member_id": other["id"]}
    r.call("GET /v1/members/{member_id}", place, expect=200)
    r.call("PATCH /v1/members/{member_id}", place, {"roles": ["reviewer"]}, expect=428)
    r.call("PATCH /v1/members/{member_id}", place, {"roles": ["reviewer"]}, headers={"If-Match": '"an older tag"'}, expect=412)
    answer = asyncio.run(r._ask("GET", f"/v1/members/{other['id']}", None, {"Authorization": f"Bearer {r.token}"}, None))
    tag = answer.headers["etag"]
    r.call("PATCH /v1/members/{member_id}", place, {"roles": ["reviewer"]}, headers={"If-Match": tag}, expect=200)
    made = r.call("POST /v1/keys", body={"label": "notebook", "member": other["id"], "scopes": ["read"]}, expect=201)
    r.calls["POST /v1/keys"]["answers"]["201"]["value"]["token"] = "pmk_" + "example" * 6
    r.call("GET /v1/keys", expect=200)
    narrow, r.token = r.token, made["token"]
    r.call("POST /v1/organisations", body={"name": "x"}, expect=403)
    r.token = narrow
    r.call("DELETE /v1/keys/{key_id}", {"key_id": made["id"]}, expect=200)
    r.call("DELETE /v1/members/{member_id}", place, expect=200)
    r.call("GET /v1/audit", expect=200)
    r.call("GET /v1/audit", anonymous=True, expect=401)


def _webhooks(r: Recorder) -> None:
    made = r.call("POST /v1/webhooks", body={"url": "https://93.184.216.34/pairmark"}, expect=201)
    r.calls["POST /v1/webhooks"]["answers"]["201"]["value"]["secret"] = "whsec_" + "example" * 6
    r.call("GET /v1/webhooks", expect=200)
    r.ids = {"webhook_id": str(made["id"])}


def _sealed(r: Recorder, world: World, role: Any) -> str:
    run_id = str(r.call("POST /v1/runs", body=world.run(role), expect=201)["id"])
    r.call("PUT /v1/runs/{run_id}/episodes", {"run_id": run_id}, world.files()[f"{role}/episodes.jsonl"], headers={"Content-Type": NDJSON}, expect=201)
    return run_id


def _uploaded(r: Recorder, world: World, role: Any) -> str:
    """A run that is announced first, and whose ledger comes in pieces."""
    run, ledger = world.run(role), world.files()[f"{role}/episodes.jsonl"]
    model = {**run["system"]["model"], "served": None}
    open_run = {**run, "finished_at": None, "episodes": None, "system": {**run["system"], "model": model}}
    run_id = str(r.call("POST /v1/runs", body=open_run, expect=201)["id"])
    place = {"run_id": run_id}
    r.call("PUT /v1/runs/{run_id}/episodes", place, ledger, headers={"Content-Type": NDJSON}, expect=409)
    r.call("PUT /v1/runs/{run_id}", place, run, expect=200)
    asked = {"type": NDJSON, "encoding": "identity", "size": len(ledger), "digest": f"sha256:{hashlib.sha256(ledger).hexdigest()}"}
    upload = r.call("POST /v1/runs/{run_id}/uploads", place, asked, expect=201)
    there = {**place, "upload_id": upload["id"]}
    piece = {"Content-Type": "application/partial-upload"}
    r.call("PATCH /v1/runs/{run_id}/uploads/{upload_id}", there, ledger[:1500], headers={**piece, "Upload-Offset": "0"}, expect=200)
    r.call("POST /v1/runs/{run_id}/uploads", place, asked, expect=200)
    r.call("GET /v1/runs/{run_id}/uploads/{upload_id}", there, expect=200)
    r.call("PATCH /v1/runs/{run_id}/uploads/{upload_id}", there, ledger[1500:], headers={**piece, "Upload-Offset": "1500"}, expect=200)
    r.call("POST /v1/runs/{run_id}/uploads/{upload_id}/seal", there, {}, expect=201)
    r.call("POST /v1/runs/{run_id}/uploads", place, asked, expect=201)
    r.call("PATCH /v1/runs/{run_id}/uploads/{upload_id}", there, ledger, headers={**piece, "Upload-Offset": "0"}, expect=200)
    r.call("POST /v1/runs/{run_id}/uploads/{upload_id}/seal", there, {}, expect=200)
    r.call("POST /v1/runs/{run_id}/uploads", place, asked, expect=201)
    r.call("DELETE /v1/runs/{run_id}/uploads/{upload_id}", there, expect=200)
    return run_id


def _certificates(r: Recorder) -> list[str]:
    found = []
    for day in (1, 2, 3):
        world = World.of(tasks=12, injections=6).edit_run("all", "/started_at", f"2026-01-0{day}T00:00:00+00:00")
        r.call("POST /v1/suites", body=world.suite_manifest(), expect=201 if day == 1 else 200)
        runs = {role: (_uploaded if day == 1 and role == "benign" else _sealed)(r, world, role) for role in world.sides}
        done = r.call("POST /v1/certifications", body={**runs, "policy": "standard/1"}, expect=201)
        if day == 1:
            r.call("POST /v1/certifications", body={**runs, "policy": "standard/1"}, expect=200)
            r.call("POST /v1/runs", body=world.run("attacked"), expect=200)
            ledger = world.files()["attacked/episodes.jsonl"]
            r.call("PUT /v1/runs/{run_id}/episodes", {"run_id": runs["attacked"]}, ledger, headers={"Content-Type": NDJSON}, expect=200)
            for what in ("", "/episodes", "/counts"):
                r.call(f"GET /v1/runs/{{run_id}}{what}", {"run_id": runs["attacked"]}, expect=200)
            r.call("GET /v1/certifications/{certification_id}", {"certification_id": done["id"]}, expect=200)
        found.append(str(done["certificate"]))
    return found


def _rest(r: Recorder, certificates: list[str]) -> None:
    first, second, third = certificates
    suite = r.call("GET /v1/suites", expect=200)["items"][0]
    place = {"digest": suite["digest"], "other": suite["digest"]}
    r.call("GET /v1/suites/{digest}", {"digest": suite["digest"]}, expect=200)
    r.call("GET /v1/suites/{digest}/diff/{other}", place, expect=200)
    at = {"certificate_id": first}
    r.call("POST /v1/certificates/{certificate_id}/publish", at, {"episodes": "public"}, expect=200)
    for what in ("", "/bundle", "/flips", "/cells", "/status", "/badge"):
        r.call(f"GET /v1/certificates/{{certificate_id}}{what}", at, expect=200)
    r.call("GET /v1/comparisons", parameters={"left": first, "right": second}, expect=200)
    r.call("GET /v1/history", parameters={"suite": suite["digest"]}, expect=200)
    r.call("GET /v1/certifications", expect=200)
    r.call("POST /v1/certificates/{certificate_id}/supersede", {"certificate_id": second}, {"by": first, "reason": "duplicate"}, expect=201)
    r.call("POST /v1/certificates/{certificate_id}/revoke", {"certificate_id": third}, {"reason": "submitter-request", "note": "asked for"}, expect=201)
    for name in ("/v1/log/checkpoint", "/v1/log/trust", "/v1/log/entries"):
        r.call(f"GET {name}", expect=200)
    r.call("GET /v1/log/proof", parameters={"index": 0}, expect=200)
    r.call("POST /v1/plans", body={"tasks": 200, "clean_rate": 0.71, "survival": 0.55}, expect=200)
    aggregate = json.loads((data_folder("schemas") / "examples/aggregate/valid/smallest.json").read_bytes())
    kept = r.call("POST /v1/aggregates", body=aggregate, expect=201)
    r.call("POST /v1/aggregates", body=aggregate, expect=200)
    r.call("GET /v1/aggregates/{aggregate_id}", {"aggregate_id": kept["id"]}, expect=200)
    _held(r)
    _queued(r)
    webhook = r.ids
    told = r.call("GET /v1/webhooks/{webhook_id}/deliveries", webhook, expect=200)["items"][0]
    again = {**webhook, "delivery_id": str(told["id"])}
    r.call("POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry", again, {}, expect=200)
    r.call("DELETE /v1/webhooks/{webhook_id}", webhook, expect=200)
    defect = {"reason": "suite-defect", "digest": suite["digest"]}
    r.call("POST /v1/cascades", body={**defect, "dry_run": True}, expect=200)
    r.call("POST /v1/cascades", body={**defect, "dry_run": False}, expect=201)
    r.call("GET /metrics", expect=200)
    r.call("GET /v1/runs/{run_id}", {"run_id": "run-0"}, expect=404)
    r.call("POST /v1/suites", body=b"{", expect=400)
    r.call("POST /v1/suites", body=b"{}", headers={"Content-Type": "text/plain"}, expect=415)
    r.call("POST /v1/suites", body={"schema": 1}, expect=422)


def _held(r: Recorder) -> None:
    """A pair that is held, and the evidence that lets it go: at once, again, and queued."""
    for number in (1, 2):
        tasks = 20 if number == 1 else 30
        world = World.of(tasks=tasks).without_probe().set("attacked", utility=True).set("benign", utility=True)
        world = world.edit_suite("/version", f"held-{number}")
        r.call("POST /v1/suites", body=world.suite_manifest(), expect=201)
        runs = {role: _sealed(r, world, role) for role in world.sides}
        done = r.call("POST /v1/certifications", body={**runs, "policy": "standard/1"}, expect=201)
        place = {"certification_id": str(done["id"])}
        evidence = {"text": "The harness was replayed by hand, task by task.", "digests": []}
        if number == 1:
            r.call("POST /v1/certifications/{certification_id}/disproof", place, evidence, expect=201)
            r.call("POST /v1/certifications/{certification_id}/disproof", place, evidence, expect=200)
        else:
            _everything_waits(r, 0)
            r.call("POST /v1/certifications/{certification_id}/disproof", place, evidence, expect=202)


def _queued(r: Recorder) -> None:
    _everything_waits(r, 0)
    world = World.of(tasks=12, injections=6).edit_run("all", "/started_at", "2026-01-09T00:00:00+00:00")
    runs = {role: _sealed(r, world, role) for role in world.sides}
    waiting = r.call("POST /v1/certifications", body={**runs, "policy": "standard/1"}, expect=202)
    place = {"certification_id": str(waiting["id"])}
    r.call("GET /v1/certifications/{certification_id}", place, expect=202)
    r.call("DELETE /v1/certifications/{certification_id}", place, expect=200)
    r.call("GET /v1/certifications/{certification_id}", place, expect=410)


def _everything_waits(r: Recorder, episodes: int) -> None:
    from dataclasses import replace

    services = r.app.state.services
    r.app.state.services = replace(services, settings=replace(services.settings, wait_episodes=episodes))
