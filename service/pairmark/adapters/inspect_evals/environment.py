"""Digest of an environment of the evaluation: its data, its code, what runs and scores a sample, and the sandbox's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pairmark.adapters.agentdojo.environment import FILES, environment_content, modules_of_fields
from pairmark.domain.canonical import digest_of, digest_of_bytes

PREFIX = "inspect_evals.agentdojo."
FRAMEWORK = frozenset(
    PREFIX + name for name in ("base_tasks", "dataset", "scorer", "task_suite", "utils", "yaml_loader")
)
"""Modules that run and score every task. Their source is in the digest of the environment: what changes there changes every cell."""


def environment_digest(suite: Any, *, with_sandbox: bool) -> str:
    """Digest of the environment of one suite; with the files that its sandbox is built from, where tasks need it."""
    from inspect_evals.agentdojo.task_suite import get_sandbox_path, read_suite_file

    place = Path(suite.data_path) if suite.data_path else None
    data, vectors = (read_suite_file(suite.name, file, place) for file in FILES)
    modules = {suite.environment_type.__module__} | {tool.__module__ for tool in suite.tools} | FRAMEWORK
    modules |= modules_of_fields(suite.environment_type, PREFIX)
    content = environment_content(data, vectors, modules)
    compose = get_sandbox_path(suite.name, place) if with_sandbox else None
    if compose is not None:
        content["sandbox"] = _files_below(Path(compose).parent)
    return digest_of(content)


def _files_below(folder: Path) -> dict[str, str]:
    """Digest of every file by its path below `folder`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): digest_of_bytes(path.read_bytes()) for path in files}
