"""A service that wants keys, with two organisations, a member of every role in each, and one's private and published records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from pairmark.domain.access import ROLES, Role
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from pairmark.http.access import first_admin_key
from tests.service.serving import JSON, NDJSON, Service, announced

MINE, OTHER = "local", "other"


@dataclass(frozen=True)
class Filled:
    """`tokens` by organisation and role; `ids` of what there is, by what it is."""

    service: Service
    tokens: dict[tuple[str, Role], str]
    ids: dict[str, str]

    def call(self, token: str | None, method: str, path: str, value: Any = None, **headers: str) -> httpx.Response:
        given = {} if token is None else {"Authorization": f"Bearer {token}"}
        given |= {name.replace("_", "-"): text for name, text in headers.items()}
        if isinstance(value, bytes):
            return self.service.call(method, path, body=value, headers={**NDJSON, **given})
        body = None if value is None else canonical_bytes(value)
        return self.service.call(method, path, body=body, headers={**(JSON if body is not None else {}), **given})

    def done(self, token: str, method: str, path: str, value: Any = None) -> dict[str, Any]:
        answer = self.call(token, method, path, value)
        assert answer.status_code < 300, (method, path, answer.text)
        return dict(answer.json())


def worlds() -> dict[str, World]:
    """Three certifiable experiments that are not the same runs, and a held one."""
    return {
        name: World.of(tasks=12, injections=6).edit_run("all", "/started_at", f"2026-01-0{day}T00:00:00+00:00")
        for day, name in enumerate(("private", "published", "closed"), 1)
    }


def opened(folder: Path) -> Service:
    return Service.at(folder, sign_in="required", requests_per_minute=1_000_000, anonymous_requests_per_minute=1_000_000)


def fill(folder: Path) -> Filled:
    service = opened(folder)
    parts = service.app.state.services
    first = first_admin_key(parts.database, parts.new_id, parts.clock)
    assert first is not None
    filled = Filled(service, {}, {})
    organisation = filled.done(first, "POST", "/v1/organisations", {"name": "Another lab"})["id"]
    for place, identifier in ((MINE, "local"), (OTHER, organisation)):
        for role in ROLES:
            member = filled.done(first, "POST", "/v1/members", {"name": f"{role} of {place}", "roles": [role], "organisation": identifier})
            made = filled.done(first, "POST", "/v1/keys", {"label": "test", "member": member["id"]})
            filled.tokens[place, role] = made["token"]
            filled.ids[f"member of {place}" if role == "reader" else f"{role} of {place}"] = member["id"]
            filled.ids[f"key of {place}" if role == "reader" else f"{role} key of {place}"] = made["id"]
    _records(filled)
    return filled


def _records(filled: Filled) -> None:
    """One organisation's runs, verdicts and certificates: private, published whole, published without episodes. They are `OTHER`'s."""
    owner, ids = filled.tokens[OTHER, "submitter"], filled.ids
    for name, world in worlds().items():
        suite = filled.done(filled.tokens[MINE, "maintainer"], "POST", "/v1/suites", world.suite_manifest())
        ids["suite"] = suite["digest"]
        runs = {}
        for role in world.sides:
            run_id = filled.done(owner, "POST", "/v1/runs", world.run(role))["id"]
            filled.done(owner, "PUT", f"/v1/runs/{run_id}/episodes", world.files()[f"{role}/episodes.jsonl"])
            runs[role] = run_id
        done = filled.done(owner, "POST", "/v1/certifications", {**runs, "policy": "standard/1"})
        ids |= {f"{name} run": runs["attacked"], f"{name} certification": done["id"], f"{name} certificate": done["certificate"]}
        ids |= {f"{name} {role}": run_id for role, run_id in runs.items()}
    for name, episodes in (("published", "public"), ("closed", "private")):
        filled.done(owner, "POST", f"/v1/certificates/{ids[f'{name} certificate']}/publish", {"episodes": episodes})
    world = worlds()["private"].edit_run("all", "/started_at", "2026-01-09T00:00:00+00:00")
    ids["open run"] = filled.done(owner, "POST", "/v1/runs", announced(world.run("attacked")))["id"]
