"""Real packages in folders of their own: copies of what is installed, changed where a test says so, used by another process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
EVERY_VERSION = ("v1", "v1.1", "v1.1.1", "v1.1.2", "v1.2", "v1.2.1", "v1.2.2")
"""Benchmark versions of agentdojo 0.1.35."""


def copy_of(package: str, folder: Path, *, release: str | None = None, parts: Sequence[str] = ("**/*",)) -> Path:
    """The installed `package` and its metadata below `folder`, which is returned; `release` renames the copy's version.

    `parts` are patterns of what is copied, by default all of it.
    """
    installed = distribution(package)
    source = Path(str(installed.locate_file(package)))
    for path in {path for part in parts for path in source.glob(part)}:
        if path.is_file() and "__pycache__" not in path.parts:
            target = folder / package / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    metadata = folder / f"{package}-{release or installed.version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {release or installed.version}\n", encoding="utf-8"
    )
    return folder


def change(folder: Path, file: str, old: str, new: str) -> None:
    """Replace the one place where `old` stands in a file of the copy."""
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} holds {old!r} {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def python(code: str, *, packages: Path | None = None, seed: str = "0", cwd: Path | None = None) -> Any:
    """The JSON value that `code` prints in another process, in which `packages` comes before what is installed."""
    done = run([sys.executable, "-c", code], packages=packages, seed=seed, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(
    command: Sequence[str], *, packages: Path | None = None, seed: str = "0", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The finished process, in which `packages` comes before what is installed."""
    places = [str(REPOSITORY / "service"), *([] if packages is None else [str(packages)])]
    environment: Mapping[str, str] = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(places)}
    return subprocess.run(
        list(command), capture_output=True, text=True, check=False, timeout=1800, env=dict(environment), cwd=cwd
    )
