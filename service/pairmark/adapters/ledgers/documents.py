"""Suite manifests and policies, read from files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, Limits, too_large
from pairmark.domain.canonical import digest_of, suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown


@dataclass(frozen=True)
class LoadedSuite:
    """A suite manifest, its JSON object as written, and its digest."""

    manifest: SuiteManifest
    value: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy whose rules are all installed, its JSON object as written, and its digest."""

    policy: Policy
    value: dict[str, Any]
    digest: str


def read_bytes(path: Path, limit_name: str, limit: int, *, file: str | None = None) -> bytes:
    """The bytes of a file; `file` is how errors name it, by default its path.

    Raises:
        Malformed: no such file, unreadable, or larger than `limit` bytes (`Limits.<limit_name>`).
    """
    named = str(path) if file is None else file
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError) as problem:
        raise unreadable(problem, named) from None
    if len(data) > limit:
        raise too_large(limit_name, limit, file=named)
    return data


def unreadable(problem: Exception, file: str) -> Malformed:
    """The refusal of a path that cannot be read."""
    reason = problem.strerror if isinstance(problem, OSError) else str(problem)
    return Malformed("unreadable", f"expected a readable file, found: {reason}", file, remedy="check the path")


def read_suite(path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> LoadedSuite:
    """The suite manifest in a JSON file.

    Raises:
        Malformed: with file, line and pointer.
    """
    manifest, value = read_document(SuiteManifest, read_bytes(Path(path), "document", limits.document), file=str(path))
    return LoadedSuite(manifest, value, suite_digest(value))


def shipped_policies() -> dict[str, Path]:
    """The policies that come with Pairmark: file by `name/version`."""
    from pairmark.resources import data_folder

    files = sorted((data_folder("manifests") / "policies").glob("*-*.json"))
    return {"/".join(path.stem.rsplit("-", 1)): path for path in files}


def read_policy(name_or_path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> LoadedPolicy:
    """A shipped policy by `name/version`, or the one in a JSON file; its rules and their parameters are checked.

    Raises:
        Malformed: no such policy (the message lists those there are), or with file, line and pointer what is wrong in it.
    """
    from pairmark.rules.registry import check_policy

    named = str(name_or_path)
    shipped = shipped_policies()
    path = shipped.get(named, Path(named))
    if named not in shipped and not path.is_file():
        raise Malformed(
            "unknown-policy", f"expected a policy file or one of {', '.join(shipped) or '(none)'}, found {shown(named)}",
            remedy="give NAME/VERSION or the path of a policy file",
        )
    policy, value = read_document(Policy, read_bytes(path, "document", limits.document, file=named), file=named)
    try:
        check_policy(policy)
    except Malformed as problem:
        raise problem.located(file=named) from None
    return LoadedPolicy(policy, value, digest_of(value))
