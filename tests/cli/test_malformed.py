"""Malformed input: exit 2, exactly one clear line on standard error, nothing on standard output, never a traceback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Here, command, is_one_line


def _edit(path: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def apply(pair: Path) -> None:
        (pair / path).write_bytes(change((pair / path).read_bytes()))

    return apply


def _as_directory(path: str) -> Callable[[Path], None]:
    def apply(pair: Path) -> None:
        (pair / path).unlink()
        (pair / path).mkdir()

    return apply


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no suite": (lambda pair: (pair / "suite.json").unlink(), "unreadable"),
    "suite is a directory": (_as_directory("suite.json"), "unreadable"),
    "suite is empty": (_edit("suite.json", lambda _: b""), "not-json"),
    "suite is a list": (_edit("suite.json", lambda data: b"[" + data + b"]"), "not-an-object"),
    "suite is binary": (_edit("suite.json", lambda _: bytes(range(256))), "not-utf8"),
    "suite with a key twice": (_edit("suite.json", lambda data: b'{"epochs":1,' + data[1:]), "duplicate-key"),
    "suite with an unknown key": (_edit("suite.json", lambda data: b'{"a\\u202eb\\n":1,' + data[1:]), "unknown-key"),
    "suite nested too deep": (_edit("suite.json", lambda _: b"[" * 100_000), "too-deep"),
    "no bundle": (lambda pair: (pair / "benign").rename(pair / "gone"), "unreadable"),
    "no run": (lambda pair: (pair / "benign/run.json").unlink(), "no-run"),
    "run is a directory": (_as_directory("benign/run.json"), "no-run"),
    "no ledger": (lambda pair: (pair / "benign/episodes.jsonl").unlink(), "ledger-files"),
    "ledger is a directory": (_as_directory("benign/episodes.jsonl"), "ledger-files"),
    "two ledgers": (lambda pair: (pair / "benign/episodes.jsonl.gz").write_bytes(b""), "ledger-files"),
    "an announcement": (_edit("benign/run.json", lambda data: json.dumps({**json.loads(data), "episodes": None}).encode()), "not-sealed"),
    "a line less": (_edit("attacked/episodes.jsonl", lambda data: data.partition(b"\n")[2]), "count-mismatch"),
    "a digest off": (_edit("attacked/run.json", lambda data: data.replace(b'"episodes":{"count":150,"digest":"sha256:', b'"episodes":{"count":150,"digest":"sha256:0', 1)), "invalid-value"),
    "an outcome changed": (_edit("attacked/episodes.jsonl", lambda data: data.replace(b'"utility":false', b'"utility":true', 1)), "digest-mismatch"),
    "NaN in the ledger": (_edit("attacked/episodes.jsonl", lambda data: data.replace(b'"attempt":1', b'"attempt":NaN', 1)), "not-finite"),
    "text for a boolean": (_edit("attacked/episodes.jsonl", lambda data: data.replace(b'"utility":true', b'"utility":"true"', 1)), "invalid-value"),
    "half a line": (_edit("attacked/episodes.jsonl", lambda data: data[:-30]), "not-json"),
    "an archive cut short": (lambda pair: _pack(pair, 200), "truncated"),
    "an archive of something else": (lambda pair: _replace(pair / "baseline", b"PK\x03\x04 this is not a tar.gz"), "not-recognised"),
}  # fmt: skip


def _replace(folder: Path, content: bytes) -> None:
    folder.rename(folder.with_name("away"))
    folder.write_bytes(content)


def _pack(pair: Path, keep: int) -> None:
    from pairmark.adapters.ledgers.bundle import pack_bundle

    pack_bundle(pair / "baseline", pair / "baseline.tar.gz")
    _replace(pair / "baseline", (pair / "baseline.tar.gz").read_bytes()[:keep])


def _options(pair: Path) -> list[str]:
    return [
        "--suite",
        str(pair / "suite.json"),
        *(part for role in ("benign", "attacked", "baseline") for part in (f"--{role}", str(pair / role))),
    ]


@pytest.mark.parametrize("subcommand", ["check", "tally"])
@pytest.mark.parametrize(("damage", "code"), FAULTS.values(), ids=FAULTS)
def test_one_line_and_exit_2(
    here: Here, pair: Path, damage: Callable[[Path], object], code: str, subcommand: str
) -> None:
    damage(pair)
    done = here(subcommand, *_options(pair), "--format", "json")
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err), done.err
    assert done.err.endswith(f"[{code}]\n"), done.err
    assert str(pair) in done.err


@pytest.mark.parametrize(
    "name",
    ["line\nbreak", "tab\tbell\a", "red\x1b[31m", "bidi\u202etxt.json", "comma,colon:%", "-dash", "\udcff\udcfe"],
)
def test_hostile_file_names_stay_on_one_line(here: Here, pair: Path, name: str) -> None:
    bad = pair / name
    bad.write_bytes(b"{}")
    options = _options(pair)
    options[1] = str(bad)
    done = here("check", *options)
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err), done.err
    github = here("check", *options, "--format", "github")
    assert github.code == 2
    assert github.out.count("\n") == 1
    assert "\x1b" not in github.out


def test_hostile_names_in_a_process(pair: Path) -> None:
    bad = pair / "red\x1b[31m\nx\u202e"
    bad.write_bytes(b"[")
    done = command("check", "--suite", bad, "--benign", pair / "benign", "--attacked", pair / "attacked")
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can read every file")
def test_a_file_without_permission(here: Here, pair: Path) -> None:
    (pair / "suite.json").chmod(0)
    done = here("check", *_options(pair))
    assert done.code == 2
    assert is_one_line(done.err)


@pytest.mark.parametrize(
    ("device", "code"), [("/proc/self/mem", "unreadable"), ("/dev/zero", "too-large"), ("/dev/null", "not-json")]
)
def test_devices_in_place_of_files(here: Here, pair: Path, device: str, code: str) -> None:
    if not Path(device).exists():
        pytest.skip(f"this system has no {device}")
    options = _options(pair)
    options[1] = device
    done = here("check", *options)
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)
    assert done.err.endswith(f"[{code}]\n")


def test_a_loop_of_links(here: Here, pair: Path) -> None:
    (pair / "suite.json").unlink()
    (pair / "suite.json").symlink_to(pair / "suite.json")
    done = here("check", *_options(pair))
    assert done.code == 2
    assert is_one_line(done.err)


@pytest.mark.parametrize("policy", ["standard/9", "standard", "../standard/1", "", "nowhere.json", "/"])
def test_an_unknown_policy(here: Here, pair: Path, policy: str) -> None:
    done = here("check", *_options(pair), "--policy", policy)
    assert done.code == 2
    assert done.err.startswith("expected a policy file or one of standard/1, transcript/1, found ")
    assert is_one_line(done.err)


def test_control_characters_in_ids_never_reach_the_terminal(here: Here, pair: Path) -> None:
    """Text, annotations and tallies escape what the documents may hold: bidirectional and other unprintable characters."""
    suite = json.loads((pair / "suite.json").read_bytes())
    suite["suite"], suite["version"] = "a\u202eb\u0085c\u2028d", "v\u200b1\u2066"
    (pair / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    for role in ("benign", "attacked", "baseline"):
        run = json.loads((pair / role / "run.json").read_bytes())
        run["system"]["model"]["served"] = [f"{role}\u202e\u0085\u2029"]
        run["system"]["scaffold"]["name"] = f"\u2067{role}"
        run["attack"] = run["attack"] and {"name": "attack\u200f\u0090", "digest": None}
        (pair / role / "run.json").write_text(json.dumps(run), encoding="utf-8")
    for arguments in (["check"], ["check", "--format", "github"], ["tally"]):
        done = here(*arguments, *_options(pair))
        assert done.code in (0, 1)
        assert all(line.isprintable() for line in done.out.split("\n")), ascii(done.out)
    shown = here("suite", "show", pair / "suite.json")
    assert all(line.isprintable() for line in shown.out.split("\n"))
