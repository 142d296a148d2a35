"""Files made to hurt: refused or listed in one sentence, in bounded time and memory, and nothing is stored."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pairmark.adapters.ledgers.bundle import write_bundle
from pairmark.domain.errors import Malformed
from pairmark.importers.asb.examples import HEADER
from pairmark.importers.asb.examples import MANIFEST as ASB
from pairmark.importers.base import Imported
from pairmark.importers.tau_bench.examples import MANIFEST as TAU
from pairmark.importers.tau_bench.examples import item
from tests.cli.running import Here, is_one_line
from tests.importers.logs import PAYLOAD, asked, attacked, calls, manifest, put, read, record, returns, says
from tests.importers.reading_one import read_file

GIB = 2**30
MIB = 2**20
PLACE = "bank/user_task_0/important_instructions/injection_task_0.json"


def sparse(path: Path, start: bytes, size: int = GIB) -> Path:
    """A file of one line, of which the disk holds only the start."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)
    return path


def test_a_line_of_a_gigabyte_is_listed_or_refused_without_being_read(tmp_path: Path) -> None:
    begin = time.process_time()
    sparse(tmp_path / "runs" / PLACE, b'{"suite_name": "bank", "messages": [')
    found = read(tmp_path / "runs")
    assert [found.unreadable[0].reason, found.episodes["status"][0]] == [f"expected at most {16 * MIB} bytes, found {GIB}", "cancelled"]
    for name, value, arm, start in (("asb", ASB, "attacked", HEADER.encode()), ("tau-bench", TAU, "benign", b"[")):
        with pytest.raises(Malformed, match="too-large"):
            read_file(name, sparse(tmp_path / name, start), value, arm, **({"attack": "x"} if arm == "attacked" else {}))
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("harness", ["agentdojo", "asb", "tau-bench"])
@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"\x1f\x8b\x08\x00", b"PK\x03\x04../../etc/passwd", b"<html>", b"{}", b"[[[[["])
def test_the_command_says_one_line_and_writes_nothing(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], harness: str, content: bytes
) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    value = {"agentdojo": manifest(), "asb": ASB, "tau-bench": TAU}[harness]
    (tmp_path / "suite.json").write_text(json.dumps(value))
    arm = ["benign"] if harness != "asb" else ["attacked", "--attack", "x"]
    done = Here(capfdbinary)("import", harness, path, "--suite", tmp_path / "suite.json", "--arm", *arm, "-o", tmp_path / "out")
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)
    assert not (tmp_path / "out").exists()


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{c}: &{c} [{','.join([f'*{chr(ord(c) - 1)}'] * 9)}]\n" for c in "bcdefghij")


@pytest.mark.parametrize(
    "output",
    [BOMB, "\\" * MIB, "\\x" * MIB, "\\\n" * MIB, "''" * MIB, "a@" * MIB, "0 " * MIB, "a." * MIB, "GB00 " * (MIB // 4), "www." * MIB,
     "x" * 4 * MIB, "\u00e9 " * MIB, "0x" + "a" * MIB, "bc1" + "q" * MIB, "\\\\\\" * MIB],
    ids=lambda text: repr(text[:6]),
)  # fmt: skip
def test_tool_output_made_to_hurt_is_searched_in_bounded_time(tmp_path: Path, output: str) -> None:
    begin = time.process_time()
    row = attacked(tmp_path, [*asked(), calls("f"), returns(output, "f"), says(), calls("g", to=output[:MIB]), returns(PAYLOAD, "f"), says()])
    assert (row["status"], row["delivered"]) == ("completed", True)
    assert time.process_time() - begin < 10


def test_a_payload_made_to_hurt_is_searched_for_in_bounded_time(tmp_path: Path) -> None:
    for number, payload in enumerate(("\\" * MIB, "a@b.c " * 100_000, "''" * (MIB // 2), " " * MIB, "\u00e9" * MIB)):
        begin = time.process_time()
        made = record(injection="injection_task_0", injections={"place": payload}, messages=[*asked(), calls("f"), returns(payload, "f"), says()])
        put(tmp_path / str(number), made)
        assert read(tmp_path / str(number)).episodes["status"].to_list() == ["completed"]
        assert time.process_time() - begin < 10


def test_reading_twice_is_the_same_and_stores_the_same(tmp_path: Path) -> None:
    def stored(found: Imported, name: str) -> list[bytes]:
        write_bundle(found.run, found.episodes, tmp_path / name)
        return [(tmp_path / name / file).read_bytes() for file in ("run.json", "episodes.jsonl")]

    put(tmp_path / "runs", record(injection="injection_task_0"))
    put(tmp_path / "runs", b"{", PLACE.replace("task_0/", "task_1/"))
    (tmp_path / "r.json").write_text(json.dumps([item(0, 0, 1.0), 7, item(1, 1, 0.0)]))
    for name in ("agentdojo", "tau-bench"):
        found = [
            read(tmp_path / "runs") if name == "agentdojo" else read_file(name, tmp_path / "r.json", TAU, "benign") for _ in range(2)
        ]
        assert stored(found[0], f"{name}-1") == stored(found[1], f"{name}-2")


PEAK = """
import json, resource, sys
from pathlib import Path
import polars
from tests.importers.reading_one import read_file
from pairmark.domain.errors import Malformed
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
name, path, manifest, arm = sys.argv[1:]
try:
    read_file(name, Path(path), json.loads(manifest), arm, **({"attack": "x"} if arm == "attacked" else {}))
except Malformed:
    pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def peak(repository: Path, name: str, path: Path, value: object, arm: str) -> int:
    """Mebibytes that reading took at most, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, name, str(path), json.dumps(value), arm], capture_output=True, text=True, check=True,
        cwd=repository, env={"PYTHONPATH": f"{repository}:{repository / 'service'}", "PATH": ""},
    )  # fmt: skip
    return int(done.stdout)


@pytest.mark.slow
def test_the_largest_files_that_are_read_take_bounded_memory(tmp_path: Path, repository: Path) -> None:
    """Some times the limit of the format, whatever fills it."""
    table, results = tmp_path / "t.csv", tmp_path / "r.json"
    table.write_bytes(HEADER.encode() + b"a,b,0,1,0,N/A,1,x\r\n" * (63 * MIB // 19))
    assert peak(repository, "asb", table, ASB, "attacked") < 1024
    table.write_bytes(HEADER.encode() + "é".encode() * (31 * MIB))
    assert peak(repository, "asb", table, ASB, "attacked") < 600
    results.write_bytes(b"[" + b'{"task_id": 0},' * (63 * MIB // 15) + b"7]")
    assert peak(repository, "tau-bench", results, TAU, "benign") < 1024
    results.write_bytes(gzip.compress(b"[" + b" " * GIB + b"]", 1))
    assert peak(repository, "tau-bench", results, TAU, "benign") < 600
    for number in range(40):
        big = record(f"user_task_{number}", "injection_task_0", messages=[*asked("x" * (15 * MIB)), says()])
        put(tmp_path / "runs", big)
    assert peak(repository, "agentdojo", tmp_path / "runs", manifest({"bank": (40, 1)}), "attacked") < 400
