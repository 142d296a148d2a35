"""The container image and the composition hold by their content; there may be no container engine to build them with."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from fnmatch import fnmatch
from importlib.metadata import requires
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import typer.main
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.core import TyperGroup

from pairmark.adapters.objects.opening import s3_place
from pairmark.cli.main import app
from pairmark.http.described import SECRETS
from pairmark.http.settings import Settings

Instruction = tuple[str, str]


@pytest.fixture(scope="module")
def stages(repository: Path) -> list[list[Instruction]]:
    """Instructions of the Dockerfile, by stage."""
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", (repository / "Dockerfile").read_text(encoding="utf-8")))
    instructions = [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in text.splitlines() if line.strip()]
    found: list[list[Instruction]] = []
    for instruction in instructions:
        if instruction[0] == "FROM":
            found.append([])
        found[-1].append(instruction)
    return found


@pytest.fixture(scope="module")
def composition(repository: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((repository / "compose.yaml").read_text(encoding="utf-8")))


def of(stage: list[Instruction], name: str) -> list[str]:
    return [rest for found, rest in stage if found == name]


def ignored(repository: Path, path: str) -> bool:
    """Whether .dockerignore keeps a path out of the build; the last rule that fits decides."""
    out = False
    for line in (repository / ".dockerignore").read_text(encoding="utf-8").splitlines():
        rule = line.removeprefix("!")
        if fnmatch(path, rule) or path.startswith(f"{rule}/") or rule.startswith(f"{path}/"):
            out = not line.startswith("!")
    return out


def test_every_file_that_is_copied_is_there_and_reaches_the_build(stages: list[list[Instruction]], repository: Path) -> None:
    copied = [word for stage in stages for rest in of(stage, "COPY") if "--from" not in rest for word in shlex.split(rest)[:-1]]
    assert {"service", "migrations", "schemas", "manifests", "pyproject.toml", "requirements/runtime.txt"} <= set(copied)
    for name in copied:
        assert (repository / name).exists(), name
        assert not ignored(repository, name), name
    for name in ("tests", ".git", "pairmark-data", "bench"):
        assert ignored(repository, name), name


def test_packages_are_the_locked_ones_with_their_hashes(stages: list[list[Instruction]], repository: Path) -> None:
    installs = [step for rest in of(stages[0], "RUN") for step in rest.split("&&") if "pip install" in step]
    assert any("/opt/pairmark/bin/pip" in step and "requirements/runtime.txt" in step for step in installs)
    assert all("--require-hashes" in step or "--no-deps" in step for step in installs)
    assert "--hash=sha256:" in (repository / "requirements" / "runtime.txt").read_text(encoding="utf-8")


def test_what_builds_the_wheel_is_whole_and_locked(stages: list[list[Instruction]], repository: Path) -> None:
    (program,) = re.findall(r"awk '([^']+)'", " ".join(of(stages[0], "RUN")))
    lock = repository / "requirements" / "dev.txt"
    taken = subprocess.run(["awk", program, str(lock)], capture_output=True, text=True, check=True).stdout
    names = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", taken, flags=re.MULTILINE)}
    assert taken.count("--hash=sha256:") >= 2 * len(names)
    assert not taken.rstrip().endswith("\\")
    waiting = ["build", "hatchling"]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            asked = [Requirement(line) for line in requires(name) or ()]
            waiting += [canonicalize_name(each.name) for each in asked if each.marker is None or each.marker.evaluate({"extra": ""})]
    assert names == needed


def test_what_runs_is_unprivileged_pinned_and_holds_no_secret(stages: list[list[Instruction]]) -> None:
    final = stages[-1]
    assert of(final, "USER") == ["10001:10001"]
    for stage in stages:
        (base,) = of(stage, "FROM")
        assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+( AS build)?", base), "a base with its version, and no `latest`"
        assert of(stage, "ADD") == []
        assert not any("sudo" in rest or "curl" in rest or "apt-get" in rest for rest in of(stage, "RUN"))
        for variable in SECRETS:
            assert not any(variable in rest for _, rest in stage)
    names = [name for name, _ in final]
    assert names.index("USER") > max(index for index, name in enumerate(names) if name in ("RUN", "COPY"))
    assert not [rest for rest in of(final, "RUN") if "pip" in rest], "nothing is installed in what runs"


def test_the_image_starts_and_checks_what_the_command_has(stages: list[list[Instruction]]) -> None:
    final = stages[-1]
    (entry,), (command,), (health,) = of(final, "ENTRYPOINT"), of(final, "CMD"), of(final, "HEALTHCHECK")
    assert json.loads(entry) == ["pairmark"]
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    assert json.loads(command)[0] in group.commands
    code = json.loads(health[health.index("CMD") + 3 :])[2]
    assert "/healthz" in code
    compile(code, "healthcheck", "exec")
    assert of(final, "STOPSIGNAL") == ["SIGTERM"]
    assert of(final, "EXPOSE") == [str(Settings().port)]


def environment_of(stage: list[Instruction]) -> dict[str, str]:
    return dict(part.split("=", 1) for rest in of(stage, "ENV") for part in shlex.split(rest))


def test_the_images_settings_are_settings(stages: list[list[Instruction]]) -> None:
    environment = {name: value for name, value in environment_of(stages[-1]).items() if name.startswith("PAIRMARK_")}
    settings = Settings.of(environment)
    assert settings.environment().keys() <= environment.keys()
    assert (settings.host, str(settings.data_dir), settings.log_format) == ("0.0.0.0", "/data", "json")
    assert f'["{settings.data_dir}"]' in of(stages[-1], "VOLUME")


def test_the_composition_names_only_settings_that_there_are(composition: dict[str, Any]) -> None:
    service = composition["services"]["service"]
    given = {name: re.sub(r"\$\{[^}]*\}", "filled", value) for name, value in service["environment"].items()}
    known = set(SECRETS) | {f"PAIRMARK_{name.upper()}" for name in Settings.__dataclass_fields__}
    assert set(given) <= known
    settings = Settings.of(given)
    assert settings.store_url is not None
    place = s3_place(settings.store_url)
    assert (place.bucket, urlsplit(place.endpoint or "").hostname) == ("pairmark", "store")
    assert "-name pairmark" in composition["services"]["bucket"]["entrypoint"][2]
    assert settings.database_url is not None
    assert urlsplit(settings.database_url).hostname == "database"


def test_no_secret_has_a_default(composition: dict[str, Any], repository: Path) -> None:
    text = (repository / "compose.yaml").read_text(encoding="utf-8")
    used = re.findall(r"\$\{([A-Z_]+)([^}]*)\}", text)
    assert {name for name, _ in used} == {"POSTGRES_PASSWORD", "STORE_KEY", "STORE_SECRET", "PAIRMARK_KEY_PASSPHRASE"}
    assert all(rest.startswith(":?") for _, rest in used), "missing ones stop the start instead of being empty"


def test_services_wait_for_each_other_and_are_shut_in(composition: dict[str, Any]) -> None:
    services = composition["services"]
    for name, each in services.items():
        assert set(each.get("depends_on", {})) <= set(services), name
        image = each["image"]
        assert image == "pairmark" or (":" in image and not image.endswith(":latest")), image
        for volume in each.get("volumes", []):
            assert volume.split(":")[0] in composition["volumes"]
    service = services["service"]
    assert service["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    grace = int(service["stop_grace_period"].removesuffix("s"))
    assert grace > 2 * Settings().shutdown_seconds, "requests and the job in hand may take that long each"
    assert "healthcheck" in services["database"]
    assert "healthcheck" in services["store"]
