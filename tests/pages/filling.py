"""Services filled with what pages are looked at on: the demo's pairs, synthetic certificates, real runs of real models."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from pairmark.adapters.ledgers.bundle import read_bundle
from pairmark.adapters.ledgers.documents import read_suite
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.episodes import canonical_line
from pairmark.domain.evidence import Arm
from pairmark.domain.world import World
from pairmark.http.app import create_app
from pairmark.http.server import server_of
from pairmark.http.settings import Settings
from tests.conftest import REPOSITORY

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}


@dataclass(frozen=True)
class Filled:
    """A service that listens, and the ids of what is in it, by a name of ours."""

    url: str
    ids: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.ids[name]

    def ask(self, method: str, path: str, content: bytes | None = None, headers: Mapping[str, str] | None = None) -> httpx.Response:
        answer = httpx.request(method, self.url + path, content=content, headers=headers, timeout=120)
        assert answer.status_code < 300, answer.text
        return answer

    def post(self, path: str, value: Any) -> Any:
        return self.ask("POST", path, canonical_bytes(value), JSON).json()

    def get(self, path: str) -> Any:
        return self.ask("GET", path).json()

    def register(self, manifest: Mapping[str, Any]) -> str:
        return str(self.post("/v1/suites", dict(manifest))["digest"])

    def hand_in(self, run: Mapping[str, Any], ledger: bytes) -> str:
        run_id = str(self.post("/v1/runs", dict(run))["id"])
        self.ask("PUT", f"/v1/runs/{run_id}/episodes", ledger, NDJSON)
        return run_id

    def certify(self, name: str, runs: Mapping[str, str]) -> dict[str, Any]:
        """Judge runs by role, and keep the ids under `name`."""
        found: dict[str, Any] = self.post("/v1/certifications", {**runs, "policy": "standard/1"})
        self.ids[name] = found["id"]
        if found["certificate"] is not None:
            self.ids[f"{name} certificate"] = found["certificate"]
        self.ids.update({f"{name} {role}": run_id for role, run_id in runs.items()})
        return found

    def certify_world(self, name: str, world: World) -> dict[str, Any]:
        self.ids[f"{name} suite"] = self.register(world.suite_manifest())
        files = world.files()
        return self.certify(name, {role: self.hand_in(world.run(role), files[f"{role}/episodes.jsonl"]) for role in world.sides})

    def hand_in_arm(self, arm: Arm) -> str:
        value = json.loads(arm.run.model_dump_json(by_alias=True, exclude_unset=True))
        return self.hand_in(value, ledger_bytes(arm.ledger))


def ledger_bytes(frame: pl.DataFrame) -> bytes:
    return b"".join(canonical_line(row) for row in frame.iter_rows(named=True))


@contextlib.contextmanager
def listening(folder: Path, **settings: Any) -> Iterator[Filled]:
    """A real server on a free port of this machine, on an embedded database, that nobody signs in to."""
    chosen = Settings(data_dir=folder, port=0, shutdown_seconds=5, **settings)
    server = server_of(chosen, create_app(chosen))
    server.config.log_config = None
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < until
        time.sleep(0.02)
    try:
        yield Filled(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def fill_with_examples(service: Filled, stories: Sequence[str] = ("certified", "refused", "quarantined")) -> None:
    """What the demo hands in: two versions of banking, a certified, a refused and a quarantined pair."""
    for version in ("v1.1.2", "v1.2.2"):
        manifest = read_suite(REPOSITORY / "manifests" / "suites" / f"agentdojo-banking-{version}.json").value
        service.ids[f"banking {version}"] = service.register(manifest)
    for story in stories:
        folder = REPOSITORY / "manifests" / "examples" / story
        runs = {}
        for role in ("benign", "attacked", "baseline"):
            if (folder / role).is_dir():
                arm = read_bundle(folder / role, role)
                value = json.loads((folder / role / "run.json").read_bytes())
                runs[role] = service.hand_in(value, ledger_bytes(arm.ledger))
        assert service.certify(story, runs)["report"]["verdict"] == story


def fill_with_worlds(service: Filled) -> None:
    """Synthetic certificates: two to compare over one mix, one over another, a revoked and a superseded one, and an announced run."""
    world = World()
    for name, one in (
        ("filter", world),
        ("bare", world.undefended()),
        ("other", world.edit_suite("/version", "v2").edit_suite("/tasks/0/checker", f"sha256:{'a' * 64}")),
        ("revoked", world.edit_run("all", "/started_at", "2026-01-02T03:04:05+00:00")),
        ("superseded", world.edit_run("all", "/started_at", "2026-01-03T03:04:05+00:00")),
    ):
        assert service.certify_world(name, one)["certificate"] is not None, name
    service.post(f"/v1/certificates/{service['revoked certificate']}/revoke", {"reason": "measurement-error", "note": None})
    service.post(
        f"/v1/certificates/{service['superseded certificate']}/supersede",
        {"by": service["filter certificate"], "reason": "duplicate", "note": None},
    )
    run = world.run("benign")
    model = {**run["system"]["model"], "served": None}
    waiting = {**run, "finished_at": None, "episodes": None, "system": {**run["system"], "model": model}}
    service.ids["announced"] = str(service.post("/v1/runs", waiting)["id"])


def fill_with_samples(service: Filled, shared: Path, folder: Path) -> None:
    """AgentDyn's own files: a quarantined GPT-4o pair, a certified defended one, a refused one with missing cells; two suite versions."""
    from tests.agentdojo.samples import CAMEL, GPT4O, REPEAT, Samples, unpack

    for name in (GPT4O, REPEAT, CAMEL):
        unpack(shared / "samples" / "agentdyn" / "raw" / f"{name}.tar.gz", folder)
    samples = Samples(folder)
    service.ids["suite"] = service.register(samples.manifest)
    other = {**samples.manifest, "version": "without a task", "tasks": samples.manifest["tasks"][1:]}
    service.ids["other suite"] = service.register(other)

    def system(name: str) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((REPOSITORY / "docs" / "examples" / f"agentdyn-{name}.system.json").read_text("utf-8"))
        return value

    bare = {role: service.hand_in_arm(samples.arm(GPT4O, role, system("undefended"))) for role in ("benign", "attacked")}
    assert service.certify("gpt-4o", bare)["report"]["verdict"] == "quarantined"
    repeat = {role: service.hand_in_arm(samples.arm(REPEAT, role, system("repeat-user-prompt"))) for role in ("benign", "attacked")}
    assert service.certify("repeat", {**repeat, "baseline": bare["attacked"]})["report"]["verdict"] == "certified"
    camel = {role: service.hand_in_arm(samples.arm(CAMEL, role, {})) for role in ("benign", "attacked")}
    assert service.certify("camel", {**camel, "baseline": bare["attacked"]})["report"]["verdict"] == "refused"
