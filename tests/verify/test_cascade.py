"""A defect's cascade: the dry run lists every certificate and every answer that rests on it, and the operation changes exactly those."""

from __future__ import annotations

import pytest

from pairmark.domain.world import World
from tests.service.serving import Service


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Service:
    return Service.at(tmp_path_factory.mktemp("cascade") / "data")


@pytest.fixture(scope="module")
def released(shop: Service) -> tuple[list[str], str]:
    """Three certificates over one suite, and one over another."""
    small = World.of(tasks=10, injections=6)
    mine = [str(shop.certify(shop.submit(small.set("attacked", 1, duration_ms=number))).json()["certificate"]) for number in (1, 2, 3)]
    other = World.of(tasks=12, injections=6).edit_suite("/suite", "another/suite")
    return mine, str(shop.certify(shop.submit(other)).json()["certificate"])


def test_the_dry_run_names_every_certificate_and_answer_and_the_operation_changes_those(shop: Service, released: tuple[list[str], str]) -> None:
    mine, other = released
    digest = shop.get(f"/v1/certificates/{mine[0]}").json()["certificate"]["suite"]["digest"]
    ask = {"reason": "suite-defect", "digest": digest}
    listed = shop.post("/v1/cascades", {**ask, "dry_run": True}).json()
    assert (sorted(listed["certificates"]), listed["comparisons"]) == (sorted(mine), 3)
    histories = [path for path in listed["answers"] if path.startswith("/v1/history")]
    comparisons = [path for path in listed["answers"] if path.startswith("/v1/comparisons")]
    assert (len(histories), len(comparisons)) == (1, 3)
    assert {one for path in comparisons for one in (path.split("left=")[1].split("&")[0], path.split("right=")[1])} == set(mine)
    before = {path: shop.get(path) for path in listed["answers"]}
    assert {answer.status_code for answer in before.values()} == {200}
    assert {item["certificate"] for item in shop.get(histories[0]).json()["items"]} == set(mine)
    elsewhere = shop.get("/v1/history", suite="another/suite").json()["items"]
    done = shop.post("/v1/cascades", {**ask, "dry_run": False}).json()
    assert (done["certificates"], done["answers"], done["comparisons"]) == (listed["certificates"], listed["answers"], 3)
    assert shop.get(histories[0]).json()["items"] == []
    assert {shop.get(path).json()["code"] for path in comparisons} == {"certificate-revoked"}
    assert shop.get("/v1/history", suite="another/suite").json()["items"] == elsewhere
    assert shop.get(f"/v1/certificates/{other}/status").json()["status"] == "valid"
    again = shop.post("/v1/cascades", {**ask, "dry_run": True}).json()
    assert (again["certificates"], again["answers"], again["comparisons"]) == ([], [], 0)

