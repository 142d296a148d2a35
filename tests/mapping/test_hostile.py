"""Files that are damaged, enormous or something else: a clear refusal, in bounded memory, and nothing stored."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pairmark.domain.errors import Malformed
from pairmark.importers.generic.cells import MAX_LINE_BYTES
from pairmark.importers.generic.examples import MANIFEST
from pairmark.importers.generic.stream import plain_chunks
from tests.cli.running import ENVIRONMENT
from tests.mapping.test_generic import BASE, ROW, lines, mapping, read, refused

PLAIN = lines(*[{**ROW, "task": f"t{number}"} for number in range(50)])


def _parquet(frame: pl.DataFrame) -> bytes:
    found = io.BytesIO()
    frame.write_parquet(found)
    return found.getvalue()


TABLE = _parquet(pl.DataFrame([ROW]))
FAULTS = {
    "empty": (b"", "a.jsonl", "no-episodes"),
    "only blank lines": (b"\n \n\n", "a.jsonl", "no-episodes"),
    "cut short": (PLAIN[:-8], "a.jsonl", "not-json"),
    "not UTF-8": (b'{"task":"\xff"}\n', "a.jsonl", "not-utf8"),
    "a lone surrogate": (b'{"task":"\\ud800","inj":"i","end":"ok"}\n', "a.jsonl", "lone-surrogate"),
    "a key twice": (b'{"task":"a","inj":"i","end":"ok","ok":true,"ok":false}\n', "a.jsonl", "duplicate-key"),
    "a key twice, once escaped": (b'{"task":"a","inj":"i","end":"ok","ok":true,"\\u006fk":false}\n', "a.jsonl", "duplicate-key"),
    "a key twice deep inside": (b'{"task":"a","inj":"i","end":"ok","x":[{"y":1,"y":2}]}\n', "a.jsonl", "duplicate-key"),
    "one document over lines": (json.dumps(ROW, indent=1).encode(), "a.jsonl", "not-json"),
    "two objects on a line": (b'{"task":"a","inj":"i","end":"ok"}{"task":"b","inj":"i","end":"ok"}\n', "a.jsonl", "not-json"),
    "a list of all": (b"[" + b",".join(PLAIN.splitlines()) + b"]\n", "a.jsonl", "not-an-object"),
    "NaN": (b'{"task":"a","inj":"i","end":"ok","ok":NaN}\n', "a.jsonl", "not-finite"),
    "nested beyond reason": (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "a.jsonl", "too-deep"),
    "a list where text is wanted": (b'{"task":["a"],"inj":"i","end":"ok"}\n', "a.jsonl", "invalid-type"),
    "gzip cut short": (gzip.compress(PLAIN)[:-9], "a.jsonl.gz", "truncated"),
    "gzip with something behind": (gzip.compress(PLAIN) + b"more", "a.jsonl.gz", "bad-compression"),
    "not gzip": (PLAIN, "a.jsonl.gz", "bad-compression"),
    "empty gzip": (b"", "a.jsonl.gz", "truncated"),
    "zstd cut short": (zstandard.compress(PLAIN)[:-4], "a.jsonl.zst", "truncated"),
    "not zstd": (PLAIN, "a.jsonl.zst", "bad-compression"),
    "CSV without rows": (b"task,inj,end,ok\n", "a.csv", "no-episodes"),
    "an empty CSV": (b"", "a.csv", "empty"),
    "a CSV without a column": (b"task,inj,end\na,i,ok\n", "a.csv", "missing-column"),
    "a CSV with a column twice": (b"task,inj,end,ok,ok\na,i,ok,1,0\n", "a.csv", "duplicate-column"),
    "a CSV row too long": (b"task,inj,end,ok\na,i,ok,1,5\n", "a.csv", "bad-csv"),
    "a CSV row too short": (b"task,inj,end,ok\na,i\n", "a.csv", "bad-csv"),
    "a CSV in another encoding": (b"task,inj,end,ok\n\xe9,i,ok,1\n", "a.csv", "bad-csv"),
    "a CSV of another delimiter": (b"task;inj;end;ok\na;i;ok;1\n", "a.csv", "missing-column"),
    "Parquet cut short": (TABLE[:-10], "a.parquet", "bad-parquet"),
    "not Parquet": (PLAIN, "a.parquet", "bad-parquet"),
    "Parquet with bytes changed": (TABLE[:40] + b"\xff" * 30 + TABLE[70:], "a.parquet", "bad-parquet"),
    "Parquet with a list": (_parquet(pl.DataFrame([{**ROW, "ok": [1]}])), "a.parquet", "invalid-type"),
    "packed Parquet": (gzip.compress(TABLE), "a.parquet.gz", "unknown-format"),
    "another format": (PLAIN, "a.txt", "unknown-format"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "name", "code"), FAULTS.values(), ids=FAULTS)
def test_one_clear_refusal(tmp_path: Path, content: bytes, name: str, code: str) -> None:
    problem = refused(tmp_path, content, BASE, name=name)
    assert problem.code == code
    assert problem.file is not None or code == "invalid-type"


def test_the_line_of_a_fault_is_named_far_into_a_file(tmp_path: Path) -> None:
    many = lines(*[{**ROW, "task": f"t{number}", "pad": "x" * 200} for number in range(60_000)])
    problem = refused(tmp_path, many + b"{\n", BASE)
    assert (problem.code, problem.line) == ("not-json", 60_001)


def test_a_bad_pattern_is_refused_in_words(tmp_path: Path) -> None:
    told = mapping(status={"column": "end", "patterns": [{"matches": "(?=x)", "means": "completed"}], "otherwise": "completed"})
    problem = refused(tmp_path, PLAIN, told)
    assert (problem.code, problem.pointer) == ("bad-pattern", "/columns/status/patterns/0/matches")


def test_no_such_file_and_no_regular_file(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in (tmp_path / "none.jsonl", tmp_path / "pipe.jsonl"):
        with pytest.raises(Malformed, match="unreadable"):
            list(plain_chunks(path))


PROGRAM = """
import sys
from pathlib import Path
from pairmark.cli.main import main
code = main(["import", "generic", sys.argv[1], "--suite", sys.argv[2], "--arm", "attacked", "--mapping", sys.argv[3], "-o", sys.argv[4]])
status = open("/proc/self/status").read()  # getrusage would tell the peak of the process that started this one
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
sys.exit(code)
"""


def _bomb(name: str, folder: Path) -> Path:
    """A gigabyte that never ends a line or a row, small on disk."""
    path = folder / name
    zeros = b" " * 2**20
    if name.endswith(".gz"):
        with gzip.open(path, "wb", compresslevel=1) as out:
            out.write(b"task,inj,end,ok\n\"" if ".csv" in name else b'{"task":"')
            for _ in range(1024):
                out.write(zeros)
    else:
        with path.open("wb") as plain:
            compressor = zstandard.ZstdCompressor(level=1).stream_writer(plain)
            with compressor:
                compressor.write(b'{"task":"')
                for _ in range(1024):
                    compressor.write(zeros)
    return path


@pytest.mark.parametrize("name", ["line.jsonl.gz", "line.jsonl.zst", "row.csv.gz"])
def test_a_gigabyte_in_one_line_is_refused_in_bounded_memory(tmp_path: Path, name: str) -> None:
    path = _bomb(name, tmp_path)
    (tmp_path / "suite.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    (tmp_path / "m.json").write_text(json.dumps(BASE), encoding="utf-8")
    arguments = [str(path), str(tmp_path / "suite.json"), str(tmp_path / "m.json"), str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.rpartition(" ")[2] in ("[too-large]\n", "[bad-csv]\n")
    assert int(done.stdout) < 600 + 8 * (MAX_LINE_BYTES >> 20)
    assert not (tmp_path / "out").exists()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0


def test_what_expands_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"x" * 5_000_000))
    with pytest.raises(Malformed, match="too-large"):
        for _ in plain_chunks(path, limit=4_000_000):
            pass


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80), st.sampled_from(["a.jsonl", "a.csv", "a.parquet", "a.jsonl.gz", "a.jsonl.zst"]), st.booleans())
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, name: str, packed: bool) -> None:
    if packed and name.endswith(".gz"):
        content = gzip.compress(content)
    if packed and name == "a.jsonl":
        content = PLAIN[:200] + content
    with contextlib.suppress(Malformed):
        read(tmp_path, content, BASE, name=name)
