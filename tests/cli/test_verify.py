"""`pairmark verify`, `keys` and `prove` as a person meets them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import ENVIRONMENT, Here, command, is_one_line
from tests.cli.test_usage import HEAVY
from tests.verify.make_corpus import SECRET

CORPUS = Path(__file__).parents[1] / "verify" / "corpus"
TRUST = ("--trust", CORPUS / "trust.json")
LOG = ("--log", CORPUS / "log.jsonl")


@pytest.mark.parametrize(("name", "code"), [("certificate", 0), ("old-key", 0), ("superseded", 5), ("revoked", 4), ("revoked-hidden", 4)])
def test_exit_codes_with_the_log(here: Here, name: str, code: int) -> None:
    done = here("verify", CORPUS / f"{name}.json", *TRUST, *LOG)
    assert (done.code, done.err) == (code, "")


def test_without_trust_or_log_the_answer_is_unknown(here: Here) -> None:
    for options in ((), TRUST, LOG):
        done = here("verify", CORPUS / "certificate.json", *options)
        assert (done.code, done.err) == (6, "")
        assert "UNKNOWN" in done.out


def test_nine_numbered_lines_and_a_summary(here: Here) -> None:
    done = here("verify", CORPUS / "certificate.json", *TRUST, *LOG)
    starts = [line.split()[:2] for line in done.out.splitlines() if line[:1].isdigit()]
    names = ["shape", "signature", "inclusion", "statement", "artifacts", "numbers", "policy", "status", "history"]
    assert starts == [[f"{number}.", name] for number, name in enumerate(names, 1)]
    assert done.out.splitlines()[-1].endswith("VALID; not checked: artifacts, numbers, policy, history")


def test_json_is_one_object(here: Here) -> None:
    value = json.loads(here("verify", CORPUS / "revoked.json", *TRUST, "--format", "json").out)
    assert (value["exit_code"], value["status"]["status"], len(value["steps"])) == (4, "revoked", 9)


def test_a_changed_byte_is_invalid_not_malformed(here: Here, tmp_path: Path) -> None:
    data = (CORPUS / "certificate.json").read_bytes()
    (tmp_path / "c.json").write_bytes(data.replace(b'"receipt":"c2sp', b'"receipt":"c3sp'))
    done = here("verify", tmp_path / "c.json", *TRUST)
    assert (done.code, done.err) == (1, "")
    assert "INVALID: shape failed" in done.out


@pytest.mark.parametrize(
    "arguments",
    [["nowhere.json"], [CORPUS / "certificate.json", "--trust", "nowhere"], [CORPUS / "certificate.json", "--artifacts", "nowhere"], [CORPUS]],
)
def test_wrong_usage_is_one_line(here: Here, arguments: list[str | Path]) -> None:
    done = here("verify", *arguments)
    assert (done.code, done.out) == (2, "")
    assert is_one_line(done.err)


def test_the_state_file_remembers_and_a_fork_is_told(here: Here, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    assert here("verify", CORPUS / "certificate.json", *TRUST, *LOG, "--state", state).code == 0
    assert "9. history    PASS" in here("verify", CORPUS / "certificate.json", *TRUST, *LOG, "--state", state).out
    value = json.loads(state.read_bytes())
    value["logs"]["log.example/pairmark"]["root"] = "sha256:" + "0" * 64
    state.write_text(json.dumps(value))
    done = here("verify", CORPUS / "certificate.json", *TRUST, *LOG, "--state", state)
    assert done.code == 1
    assert "two histories" in " ".join(done.out.split())
    assert json.loads(state.read_bytes()) == value, "what was seen is not forgotten after a failure"


def test_artifacts_are_computed_again(here: Here) -> None:
    done = here("verify", CORPUS / "certificate.json", *TRUST, *LOG, "--artifacts", CORPUS / "artifacts")
    assert (done.code, done.out.splitlines()[-1].endswith("VALID; not checked: history")) == (0, True)


def test_verifying_without_artifacts_loads_nothing_heavy() -> None:
    program = f"import sys; from pairmark.cli.main import main; main(sys.argv[1:]); print([m for m in {HEAVY!r} if m in sys.modules])"
    arguments = map(str, ["verify", CORPUS / "certificate.json", *TRUST, *LOG])
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert done.stdout.splitlines()[-1] == "[]"


# --- prove -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(SECRET)
    return tmp_path / "secret"


def prove(here: Here, secret: Path, *more: str | Path, run: str = "attacked") -> tuple[Path, int]:
    proof = secret.parent / "rows.json"
    done = here("prove", CORPUS / "certificate.json", "--run", CORPUS / "artifacts" / run, "--secret", secret, "-o", proof, *more)
    return proof, done.code


def test_single_episodes_are_shown_and_nothing_of_the_others(here: Here, secret: Path) -> None:
    ledger = [json.loads(line) for line in (CORPUS / "artifacts/attacked/episodes.jsonl").read_bytes().splitlines()]
    first, other = ledger[3], ledger[-1]
    proof, code = prove(here, secret, "--cell", f"{first['task_id']},{first['injection_id']},{first['epoch']}")
    assert code == 0
    done = here("verify", CORPUS / "certificate.json", *TRUST, *LOG, "--rows", proof, "--format", "json")
    assert [item["episode"] for item in json.loads(done.out)["rows"]] == [first]
    assert other["task_id"].encode() not in proof.read_bytes()
    assert first["task_id"] in here("verify", CORPUS / "certificate.json", *TRUST, *LOG, "--rows", proof).out


def test_a_changed_row_is_refused(here: Here, secret: Path) -> None:
    proof, _ = prove(here, secret, "--cell", _first_task())
    value = json.loads(proof.read_bytes())
    value["arms"][0]["rows"][0]["row"] += 1
    proof.write_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())
    done = here("verify", CORPUS / "certificate.json", *TRUST, *LOG, "--rows", proof)
    assert (done.code, "wrong-row" in done.out) == (1, True)


def _first_task() -> str:
    line = (CORPUS / "artifacts/attacked/episodes.jsonl").read_bytes().splitlines()[0]
    return str(json.loads(line)["task_id"])


def test_rows_of_another_certificate_are_refused(here: Here, secret: Path) -> None:
    proof, _ = prove(here, secret, "--cell", _first_task())
    done = here("verify", CORPUS / "old-key.json", *TRUST, *LOG, "--rows", proof)
    assert (done.code, "other-certificate" in done.out) == (1, True)


@pytest.mark.parametrize(
    ("more", "run"),
    [
        (["--cell", "no_such_task"], "attacked"), (["--cell", "a,b,c,d"], "attacked"), (["--cell", "a,b,x"], "attacked"),
        (["--cell", "x"], "benign"), (["--cell", "x", "--arm", "control"], "attacked"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_said(here: Here, secret: Path, more: list[str], run: str) -> None:
    proof, code = prove(here, secret, *more, run=run)
    assert (code, proof.exists()) == (2, False)


# --- keys --------------------------------------------------------------------------------------------------------------------


def test_a_key_ceremony(here: Here, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    done = here("keys", "init", "--origin", "log.example/pairmark", "--keys", keys)
    assert done.code == 0
    digest = done.out.split()[-1]
    assert digest.startswith("sha256:")
    assert here("keys", "rotate", "certifier", "--from-index", "5", "--keys", keys).code == 0
    assert here("keys", "revoke", "log", "--from-index", "3", "--keys", keys).code == 0
    shown = here("keys", "show", "--keys", keys).out
    assert "version 3" in shown
    assert digest in shown
    assert here("keys", "init", "--origin", "log.example/pairmark", "--keys", keys).code == 1


def test_an_exposed_key_is_refused(here: Here, tmp_path: Path) -> None:
    here("keys", "init", "--origin", "o", "--keys", tmp_path / "keys")
    (tmp_path / "keys" / "root.pem").chmod(0o644)
    done = here("keys", "rotate", "log", "--from-index", "1", "--keys", tmp_path / "keys")
    assert done.code == 2
    assert "exposed-key" in done.err


def test_a_passphrase_comes_from_the_environment(tmp_path: Path) -> None:
    environment = {"PAIRMARK_KEY_PASSPHRASE": "correct horse", "PAIRMARK_KEYS": str(tmp_path / "keys")}
    assert command("keys", "init", "--origin", "o", environment=environment).code == 0
    assert b"ENCRYPTED" in (tmp_path / "keys" / "root.pem").read_bytes()
    assert command("keys", "rotate", "root", "--from-index", "0", environment=environment).code == 0
    assert command("keys", "rotate", "root", "--from-index", "0", "--keys", tmp_path / "keys").code == 2
    shutil.rmtree(tmp_path / "keys")
