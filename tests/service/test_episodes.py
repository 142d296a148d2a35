from __future__ import annotations

import gzip
import io
import json
from typing import Any

import polars as pl
import pytest
import zstandard

from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.episodes import EPISODE_SCHEMA, canonical_line, in_canonical_order
from pairmark.domain.world import World
from pairmark.http.models import EpisodePage, RunAnswer
from tests.service.serving import Service, announced, problem_in

PARQUET = "application/vnd.apache.parquet"


@pytest.fixture
def run_id(service: Service, world: World) -> str:
    """An announced run that awaits its attacked ledger."""
    service.register(world)
    return str(service.post("/v1/runs", world.run("attacked")).json()["id"])


@pytest.fixture(scope="module")
def ledger(world: World) -> bytes:
    return world.files()["attacked/episodes.jsonl"]


def parquet_of(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.with_columns(pl.col("status").cast(pl.String)).write_parquet(out)
    return out.getvalue()


def unreadable(service: Service, run_id: str) -> None:
    """Nothing of a refused upload can be seen."""
    assert service.get(f"/v1/runs/{run_id}").json()["state"] == "announced"
    problem_in(service.get(f"/v1/runs/{run_id}/episodes"), 404, "no-episodes")
    objects = service.app.state.services.settings.data_dir / "objects"
    assert [path for path in objects.rglob("*") if path.is_file()] == []
    assert list((objects.parent / "scratch").iterdir()) == []


def test_a_ledger_seals_its_run_once(service: Service, run_id: str, ledger: bytes, world: World) -> None:
    first, second = service.upload(run_id, ledger), service.upload(run_id, ledger)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    answer = RunAnswer.model_validate_json(first.content)
    assert answer.state == "sealed"
    assert answer.episodes is not None
    assert answer.episodes.digest == digest_of_bytes(ledger)
    other = b"".join(ledger.splitlines(keepends=True)[1:])
    problem_in(service.upload(run_id, other), 409, "run-sealed")
    assert service.get(f"/v1/runs/{run_id}/episodes", {"Accept": "application/x-ndjson"}).content == ledger


@pytest.mark.parametrize("how", ["gzip", "zstd", "parquet", "parquet gzip", "other spelling"])
def test_every_way_of_writing_one_ledger_is_that_ledger(service: Service, run_id: str, ledger: bytes, world: World, how: str) -> None:
    headers: dict[str, str] = {}
    body = ledger
    if "parquet" in how:
        headers["Content-Type"] = PARQUET
        body = parquet_of(world.frame("attacked"))
    if how == "other spelling":
        rows = [json.loads(line) for line in ledger.splitlines()]
        body = b"\n".join(json.dumps({key: value for key, value in reversed(row.items()) if value is not None or key == "injection_id"}).encode() for row in rows)
        headers["Content-Type"] = "application/x-ndjson; charset=utf-8"
    if "gzip" in how:
        headers["Content-Encoding"] = "gzip"
        body = gzip.compress(body)
    if "zstd" in how:
        headers["Content-Encoding"] = "zstd"
        body = zstandard.ZstdCompressor().compress(body)
    assert service.upload(run_id, body, **headers).status_code == 201
    assert service.get(f"/v1/runs/{run_id}/episodes", {"Accept": "application/x-ndjson"}).content == ledger


def refused_bodies() -> list[tuple[str, int, str, int | None]]:
    return [
        ("not json", 400, "not-json", 4),
        ("truncated line", 400, "not-json", None),
        ("nan", 400, "not-finite", 4),
        ("blank", 400, "blank-line", 4),
        ("duplicate key", 422, "duplicate-key", 4),
        ("string boolean", 422, "invalid-value", 4),
        ("unknown key", 422, "unknown-key", 4),
        ("missing key", 422, "missing-key", 4),
        ("array", 422, "not-an-object", 4),
        ("unsorted", 422, "out-of-order", 4),
        ("one missing", 422, "count-mismatch", None),
        ("one changed", 422, "digest-mismatch", None),
        ("empty", 422, "count-mismatch", None),
        ("truncated gzip", 400, "truncated", None),
        ("not gzip", 400, "bad-compression", None),
        ("not zstd", 400, "bad-compression", None),
        ("behind gzip", 400, "trailing-data", None),
    ]


@pytest.mark.parametrize(("wrong", "status", "code", "line"), refused_bodies(), ids=[row[0] for row in refused_bodies()])
def test_a_wrong_ledger_is_refused_and_nothing_of_it_stays(
    service: Service, run_id: str, ledger: bytes, wrong: str, status: int, code: str, line: int | None
) -> None:
    lines = ledger.splitlines(keepends=True)
    row = json.loads(lines[3])
    headers: dict[str, str] = {}
    replacement: dict[str, bytes] = {
        "not json": b"{nonsense}\n",
        "nan": lines[3].replace(b'"duration_ms":', b'"duration_ms":NaN,"x":'),
        "blank": b"\n",
        "duplicate key": lines[3].replace(b"{", b'{"epoch":1,', 1),
        "string boolean": json.dumps({**row, "utility": "true"}).encode() + b"\n",
        "unknown key": json.dumps({**row, "surprise": 1}).encode() + b"\n",
        "missing key": json.dumps({key: value for key, value in row.items() if key != "status"}).encode() + b"\n",
        "array": b"[]\n",
        "one missing": b"",
        "one changed": json.dumps({**row, "duration_ms": 987_654}).encode() + b"\n",
    }
    if wrong in replacement:
        lines[3] = replacement[wrong]
    if wrong == "unsorted":
        lines[2], lines[3] = lines[3], lines[2]
    body = b"".join(lines)
    if wrong == "truncated line":
        body = body[:-20]
    if wrong == "empty":
        body = b""
    if "gzip" in wrong or "zstd" in wrong:
        headers["Content-Encoding"] = "zstd" if "zstd" in wrong else "gzip"
        packed = gzip.compress(body)
        body = {"truncated gzip": packed[:-10], "behind gzip": packed + b"more", "not gzip": body, "not zstd": body}[wrong]
    problem = problem_in(service.upload(run_id, body, **headers), status, code)
    if line is not None:
        assert problem.errors[0].line == line
    unreadable(service, run_id)
    assert service.upload(run_id, ledger).status_code == 201


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Content-Type": "application/json"}, "unsupported-media-type"),
        ({"Content-Type": "text/csv"}, "unsupported-media-type"),
        ({"Content-Type": ""}, "unsupported-media-type"),
        ({"Content-Encoding": "br"}, "unsupported-encoding"),
        ({"Content-Encoding": "gzip, gzip"}, "unsupported-encoding"),
    ],
)
def test_another_type_or_encoding_is_415(service: Service, run_id: str, ledger: bytes, headers: dict[str, str], code: str) -> None:
    problem_in(service.upload(run_id, ledger, **headers), 415, code)
    unreadable(service, run_id)


def test_a_file_that_is_no_parquet_is_refused(service: Service, run_id: str, ledger: bytes, world: World) -> None:
    whole = parquet_of(world.frame("attacked"))
    for body in (ledger, b"", b"PAR1", whole[:-100], whole[:200] + whole[300:]):
        answer = service.upload(run_id, body, Content_Type=PARQUET)
        assert answer.status_code in (400, 422), answer.text
        problem_in(answer, answer.status_code, answer.json()["code"])
    unreadable(service, run_id)


def test_a_ledger_larger_than_stated_is_413(world: World, ledger: bytes, tmp_path: Any) -> None:
    small = Service.at(tmp_path / "small", max_upload_bytes=1000)
    small.register(world)
    run_id = small.post("/v1/runs", world.run("attacked")).json()["id"]
    problem = problem_in(small.upload(run_id, ledger), 413, "too-large")
    assert "1000" in problem.detail
    assert "PAIRMARK_MAX_UPLOAD_BYTES" in problem.detail
    unreadable(small, run_id)


def test_a_ledger_that_expands_beyond_the_stated_size_is_413(world: World, tmp_path: Any) -> None:
    small = Service.at(tmp_path / "small", max_ledger_bytes=100_000)
    small.register(world)
    run_id = small.post("/v1/runs", world.run("attacked")).json()["id"]
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000
    problem_in(small.upload(run_id, bomb, Content_Encoding="gzip"), 413, "too-large")
    unreadable(small, run_id)


def test_a_run_must_declare_its_ledger_first(service: Service, world: World, ledger: bytes) -> None:
    service.register(world)
    run_id = service.post("/v1/runs", announced(world.run("attacked"))).json()["id"]
    problem_in(service.upload(run_id, ledger), 409, "ledger-not-declared")
    service.put(f"/v1/runs/{run_id}", world.run("attacked"))
    assert service.upload(run_id, ledger).status_code == 201
    assert service.get(f"/v1/runs/{run_id}").json()["after_the_fact"] is False


def test_an_unknown_run_is_404(service: Service, ledger: bytes) -> None:
    problem_in(service.upload("run-0", ledger), 404, "unknown-run")
    problem_in(service.get("/v1/runs/run-0/episodes"), 404, "unknown-run")


def test_a_ledger_of_a_million_bytes_goes_through_in_parts(service: Service) -> None:
    world = World.of(tasks=60, injections=60, groups=1)
    service.register(world)
    body = world.files()["attacked/episodes.jsonl"]
    assert len(body) > 1_000_000
    run_id = service.seal(world.run("attacked"), body)
    assert service.get(f"/v1/runs/{run_id}/episodes", format="ndjson").content == body


class TestReading:
    def test_pages_hold_every_episode_once_in_order(self, filled: tuple[Service, dict[str, str]], world: World) -> None:
        service, ids = filled
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            asked = {"limit": 37} if cursor is None else {"limit": 37, "cursor": cursor}
            answer = service.get(f"/v1/runs/{ids['attacked']}/episodes", **asked)
            page = EpisodePage.model_validate_json(answer.content)
            assert len(page.items) <= 37
            found.extend(page.items)
            cursor = page.next
            if cursor is None:
                break
        assert found == world.frame("attacked").to_dicts()

    def test_a_page_holds_all_fourteen_keys(self, filled: tuple[Service, dict[str, str]]) -> None:
        service, ids = filled
        first = service.get(f"/v1/runs/{ids['benign']}/episodes", limit=1).json()["items"][0]
        assert set(first) == set(EPISODE_SCHEMA)

    @pytest.mark.parametrize(
        ("parameters", "kept"),
        [
            ({"utility": "true"}, pl.col("utility")),
            ({"utility": "false"}, ~pl.col("utility")),
            ({"utility": "null"}, pl.col("utility").is_null()),
            ({"attack_success": "true", "delivered": "true"}, pl.col("attack_success") & pl.col("delivered")),
            ({"status": "completed"}, pl.col("status").cast(pl.String) == "completed"),
            ({"status": "cancelled"}, pl.lit(False)),
            ({"epoch": 1}, pl.col("epoch") == 1),
            ({"epoch": 2}, pl.lit(False)),
        ],
    )
    def test_filters(self, filled: tuple[Service, dict[str, str]], world: World, parameters: dict[str, Any], kept: pl.Expr) -> None:
        service, ids = filled
        frame = world.frame("attacked").filter(kept)
        path = f"/v1/runs/{ids['attacked']}/episodes"
        assert service.get(path, limit=1000, **parameters).json()["items"] == frame.to_dicts()
        lines = b"".join(canonical_line(row) for row in frame.iter_rows(named=True))
        assert service.get(path, format="ndjson", **parameters).content == lines

    def test_filters_and_pages_together(self, filled: tuple[Service, dict[str, str]], world: World) -> None:
        service, ids = filled
        frame = world.frame("attacked").filter(pl.col("utility"))
        path = f"/v1/runs/{ids['attacked']}/episodes"
        for size in (1, 7, frame.height - 1, frame.height, frame.height + 1):
            found: list[dict[str, Any]] = []
            asked: dict[str, Any] = {"limit": size, "utility": "true"}
            while True:
                page = service.get(path, **asked).json()
                found.extend(page["items"])
                if page["next"] is None:
                    break
                assert len(page["items"]) == size
                asked["cursor"] = page["next"]
            assert found == frame.to_dicts()

    def test_one_cell(self, filled: tuple[Service, dict[str, str]], world: World) -> None:
        service, ids = filled
        row = world.frame("attacked").row(5, named=True)
        answer = service.get(f"/v1/runs/{ids['attacked']}/episodes", task=row["task_id"], injection=row["injection_id"])
        assert answer.json() == {"items": [row], "next": None}

    def test_parquet_is_the_whole_ledger(self, filled: tuple[Service, dict[str, str]], world: World) -> None:
        service, ids = filled
        answer = service.get(f"/v1/runs/{ids['attacked']}/episodes", {"Accept": PARQUET})
        assert answer.headers["content-type"] == PARQUET
        frame = pl.read_parquet(io.BytesIO(answer.content)).cast(dict(EPISODE_SCHEMA))  # type: ignore[arg-type]
        assert in_canonical_order(frame).equals(world.frame("attacked"))

    @pytest.mark.parametrize(
        ("accept", "found"),
        [
            ("*/*", "application/json"),
            ("application/*", "application/json"),
            ("application/x-ndjson", "application/x-ndjson"),
            ("application/json;q=0.5, application/x-ndjson", "application/x-ndjson"),
            (f"text/html, {PARQUET};q=0.1", PARQUET),
        ],
    )
    def test_accept_is_obeyed(self, filled: tuple[Service, dict[str, str]], accept: str, found: str) -> None:
        service, ids = filled
        answer = service.get(f"/v1/runs/{ids['benign']}/episodes", {"Accept": accept})
        assert answer.status_code == 200
        assert answer.headers["content-type"].split(";")[0] == found
        assert "Accept" in answer.headers["vary"]
        again = service.get(f"/v1/runs/{ids['benign']}/episodes", {"Accept": accept, "If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304

    def test_each_form_has_a_tag_of_its_own(self, filled: tuple[Service, dict[str, str]]) -> None:
        service, ids = filled
        path = f"/v1/runs/{ids['benign']}/episodes"
        answers = [service.get(path, format=form) for form in ("json", "ndjson", "parquet")]
        answers += [service.get(path, format="ndjson", utility="true"), service.get(path, limit=3), service.get(path, limit=4)]
        assert len({answer.headers["etag"] for answer in answers}) == len(answers)

    def test_what_cannot_be_given_is_said(self, filled: tuple[Service, dict[str, str]]) -> None:
        service, ids = filled
        path = f"/v1/runs/{ids['benign']}/episodes"
        problem_in(service.get(path, {"Accept": "text/html"}), 406, "not-acceptable")
        problem_in(service.get(path, {"Accept": "application/json;q=0"}), 406, "not-acceptable")
        problem_in(service.get(path, format="parquet", utility="true"), 422, "invalid-parameter")
        problem_in(service.get(path, format="ndjson", limit=3), 422, "invalid-parameter")
        for wrong in ({"utility": "yes"}, {"status": "done"}, {"epoch": "0"}, {"limit": 0}, {"limit": "x"}, {"outcome": "won"}, {"format": "csv"}):
            problem_in(service.get(path, **wrong), 422, "invalid-parameter")
        problem_in(service.get(path, limit=1001), 422, "invalid-parameter")
        problem_in(service.get(path, cursor="nonsense"), 422, "bad-cursor")
