"""A payload of a few letters stands in any text: meeting it proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importers.logs import asked, calls, one, put, record, returns, says


@pytest.mark.parametrize(
    ("payloads", "text", "delivered"),
    [(["h"], "the bill", None), (["a b c d"], "a b c d", None), (["Pay eve!!"], "so: Pay eve!!", True), (["Pay eve!!"], "bill", False),
     (["h", "Pay eve!!"], "Pay eve!!", True), (["h", "Pay eve!!"], "the bill", None), (["", "Pay eve!!"], "the bill", False)],
)  # fmt: skip
def test_delivery_of_a_short_payload_is_unknown(tmp_path: Path, payloads: list[str], text: str, delivered: bool | None) -> None:
    said = [*asked(), calls("read_file"), returns(text), says()]
    put(tmp_path, record(injection="injection_task_0", injections={str(n): payload for n, payload in enumerate(payloads)}, messages=said))
    assert one(tmp_path)["delivered"] is delivered
