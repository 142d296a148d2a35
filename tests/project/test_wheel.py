"""The wheel does everything from an empty folder, in an environment that knows nothing of this checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pairmark
from tests.project.sources import REPOSITORY, tracked_files

LOCK = REPOSITORY / "requirements" / "runtime.txt"
DATA_FOLDERS = ("migrations", "schemas", "manifests")


def run(command: list[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command with nothing inherited that could point back here."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "COV"))}
    return subprocess.run(
        [str(part) for part in command], cwd=folder, env={**kept, **environment}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=600, check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, REPOSITORY], folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_brings_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    tracked = {path.relative_to(REPOSITORY).as_posix() for path in tracked_files()}
    expected = {name.removeprefix("service/") for name in tracked if name.startswith("service/pairmark/")}
    expected |= {f"pairmark/_data/{name}" for name in tracked if name.startswith(tuple(f"{each}/" for each in DATA_FOLDERS))}
    information = f"pairmark-{pairmark.__version__}.dist-info/"
    assert {name for name in names if not name.startswith(information)} == expected
    assert f"{information}licenses/LICENSE" in names
    for folder in DATA_FOLDERS:
        assert any(name.startswith(f"pairmark/_data/{folder}/") for name in names), folder


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the runtime lock and the wheel; returns the folder of its commands."""
    folder = tmp_path_factory.mktemp("fresh")
    uv, python = Path(sys.executable).with_name("uv"), folder / "venv" / "bin" / "python"
    made = run([uv, "venv", "--quiet", "--seed", "--python", sys.executable, folder / "venv"], folder)
    assert made.returncode == 0, made.stderr
    locked = run([uv, "pip", "sync", "--quiet", "--python", python, "--require-hashes", LOCK], folder)
    if locked.returncode != 0:  # uv does not read pip's configuration, which may be what says where packages come from
        locked = run([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", LOCK], folder)
    assert locked.returncode == 0, locked.stderr
    own = run([uv, "pip", "install", "--quiet", "--python", python, "--no-deps", "--offline", wheel], folder)
    assert own.returncode == 0, own.stderr
    return python.parent


def test_the_installed_wheel_upgrades_demonstrates_and_checks_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    pairmark_command = installed / "pairmark"
    where = run([installed / "python", "-c", "import pairmark; print(pairmark.__file__)"], tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(installed.parent)
    assert run([installed / "python", "-c", "import agentdojo"], tmp_path).returncode != 0, "the harness is no part of the runtime"

    upgraded = run([pairmark_command, "db", "upgrade"], tmp_path)
    assert upgraded.returncode == 0, upgraded.stdout + upgraded.stderr

    shown = run([pairmark_command, "demo", "--data", tmp_path / "data"], tmp_path)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "certified" in shown.stdout
    assert "\x1b[" not in shown.stdout, "colours belong on a terminal only"

    demo = tmp_path / "data" / "demo"
    arms: list[str | Path] = ["--benign", demo / "benign", "--attacked", demo / "attacked", "--baseline", demo / "baseline"]
    checked = run([pairmark_command, "check", "--suite", demo / "suite.json", *arms, "--format", "json"], tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    report = json.loads(checked.stdout)
    assert report["verdict"] == "certified"
    assert report == json.loads((demo / "report.json").read_bytes())
    assert json.loads((demo / "refused.json").read_bytes())["verdict"] == "refused"
