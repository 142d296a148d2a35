"""A service that wants keys and holds something of everything, for callers who send it anything."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from pairmark.http.access import first_admin_key
from tests.service.serving import JSON, NDJSON, Service, announced

DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")


@dataclass
class Target:
    """The service; keys by who holds them, None for nobody; ids that path parameters may name; bodies that calls take."""

    service: Service
    keys: dict[str, str | None] = field(default_factory=dict)
    ids: dict[str, list[str]] = field(default_factory=dict)
    bodies: dict[str, list[Any]] = field(default_factory=dict)

    def done(self, method: str, path: str, value: Any = None) -> Any:
        body = value if isinstance(value, bytes) or value is None else canonical_bytes(value)
        kind = {} if body is None else NDJSON if isinstance(value, bytes) else JSON
        answer = self.service.call(method, path, body=body, headers={**kind, "Authorization": f"Bearer {self.keys['admin']}"})
        assert answer.status_code < 300, (method, path, answer.text)
        return answer.json()


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    return filled(tmp_path_factory.mktemp("schemathesis"))


def filled(folder: Path) -> Target:
    service = Service.at(folder, sign_in="required", requests_per_minute=10_000_000, anonymous_requests_per_minute=10_000_000)
    parts = service.app.state.services
    made = Target(service, {"admin": first_admin_key(parts.database, parts.new_id, parts.clock), "nobody": None})
    _people(made)
    _records(made)
    _webhooks(made)
    return made


def _people(made: Target) -> None:
    chief = made.done("POST", "/v1/members", {"name": "chief", "roles": ["admin", "submitter", "maintainer", "reviewer"]})
    made.keys["admin"] = made.done("POST", "/v1/keys", {"label": "chief", "member": chief["id"]})["token"]
    reader = made.done("POST", "/v1/members", {"name": "reader", "roles": ["submitter"]})
    made.keys["narrow"] = made.done("POST", "/v1/keys", {"label": "narrow", "member": reader["id"], "scopes": ["read"]})["token"]
    spare = made.done("POST", "/v1/members", {"name": "spare", "roles": ["reader"]})
    key = made.done("POST", "/v1/keys", {"label": "spare", "member": spare["id"]})
    made.ids |= {"member_id": [spare["id"]], "key_id": [key["id"]]}
    made.bodies |= {
        "PATCH /v1/members/{member_id}": [{"roles": ["reviewer"]}, {"name": "renamed"}],
        "POST /v1/members": [{"name": "one more", "roles": ["reader"]}],
        "POST /v1/keys": [{"label": "one more", "member": spare["id"], "scopes": ["read"]}],
        "POST /v1/organisations": [{"name": "one more"}],
    }


def _records(made: Target) -> None:
    runs: list[dict[str, str]] = []
    certificates, certifications = [], []
    world = World.of(tasks=12, injections=6)
    digest = made.done("POST", "/v1/suites", world.suite_manifest())["digest"]
    for day in DAYS[:2]:
        dated = world.edit_run("all", "/started_at", f"{day}T00:00:00+00:00")
        ids: dict[str, str] = {}
        for role in world.sides:
            ids[role] = made.done("POST", "/v1/runs", dated.run(role))["id"]
            made.done("PUT", f"/v1/runs/{ids[role]}/episodes", dated.files()[f"{role}/episodes.jsonl"])
        judged = made.done("POST", "/v1/certifications", {**ids, "policy": "standard/1"})
        runs.append(ids)
        certifications.append(judged["id"])
        certificates.append(judged["certificate"])
    made.done("POST", f"/v1/certificates/{certificates[0]}/publish", {"episodes": "public"})
    late = world.edit_run("all", "/started_at", f"{DAYS[2]}T00:00:00+00:00")
    begun = made.done("POST", "/v1/runs", late.run("attacked"))["id"]
    ledger = late.files()["attacked/episodes.jsonl"]
    asked = {"type": "application/x-ndjson", "size": len(ledger), "digest": f"sha256:{hashlib.sha256(ledger).hexdigest()}"}
    upload = made.done("POST", f"/v1/runs/{begun}/uploads", asked)["id"]
    made.ids |= {
        "run_id": [begun, runs[0]["attacked"], runs[1]["benign"]], "upload_id": [upload], "certification_id": certifications,
        "certificate_id": certificates, "digest": [digest], "other": [digest],
    }  # fmt: skip
    reason = {"reason": "submitter-request"}
    made.bodies |= {
        "POST /v1/suites": [world.suite_manifest()],
        "POST /v1/runs": [late.run("benign"), announced(late.run("attacked"))],
        "PUT /v1/runs/{run_id}": [late.run("attacked"), announced(late.run("attacked"))],
        "PUT /v1/runs/{run_id}/episodes": [ledger, ledger[:-10], b"{}\n"],
        "POST /v1/runs/{run_id}/uploads": [asked],
        "PATCH /v1/runs/{run_id}/uploads/{upload_id}": [ledger[:100], ledger],
        "POST /v1/runs/{run_id}/uploads/{upload_id}/seal": [{}],
        "POST /v1/certifications": [{**runs[0], "policy": "standard/1"}, {**runs[0], "benign": runs[1]["benign"], "policy": "standard/1"}],
        "POST /v1/certifications/{certification_id}/disproof": [{"text": "looked at by hand", "digests": []}],
        "POST /v1/certificates/{certificate_id}/publish": [{}],
        "POST /v1/certificates/{certificate_id}/revoke": [reason],
        "POST /v1/certificates/{certificate_id}/supersede": [{**reason, "by": certificates[0]}],
        "POST /v1/cascades": [{"reason": "suite-defect", "digest": digest, "dry_run": True}],
        "POST /v1/plans": [{"tasks": 200, "clean_rate": 0.71, "survival": 0.55}],
    }


def _webhooks(made: Target) -> None:
    hook = made.done("POST", "/v1/webhooks", {"url": "https://93.184.216.34/hook"})
    made.ids["webhook_id"] = [hook["id"]]
    made.ids["delivery_id"] = ["delivery-0"]
    made.bodies |= {
        "POST /v1/webhooks": [{"url": "https://93.184.216.34/other"}],
        "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry": [{}],
    }
