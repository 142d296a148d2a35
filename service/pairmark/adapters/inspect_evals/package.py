"""The installed inspect_evals package: an optional extra, imported only when something is asked of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal, get_args

from pairmark.domain.errors import Malformed, shown

TRIED = "0.26.0"
"""The release that export and probes were tried with. Others do as well while they keep its names; what they change shows in digests."""
ALL = "all"
WITHOUT = "workspace"
"""A part of `workspace_plus`, which the evaluation leaves out when no suite is named; the two never run together."""
SandboxTasks = Literal["yes", "no", "only"]


def package_version() -> str:
    """Version of the installed package.

    Raises:
        Malformed: it is not installed, or without what its agentdojo evaluation needs.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the packages' own, when they are first imported
            import_module("inspect_evals.agentdojo.dataset")
            import_module("inspect_evals.agentdojo.agentdojo")
    except ImportError:
        raise Malformed(
            "missing-extra",
            "expected the inspect_evals package with its agentdojo evaluation, found none",
            remedy="install it: pip install 'pairmark[inspect-evals]'",
        ) from None
    return version("inspect_evals")


def task_version() -> str:
    """The evaluation's own version, such as `2-A`: the label of its suites."""
    package_version()
    from inspect_evals.agentdojo.agentdojo import EVAL_VERSION

    found: str = EVAL_VERSION.to_metadata()["full_task_version"]
    return found


def load_suites(names: Sequence[str]) -> dict[str, Any]:
    """The evaluation's own suite objects, in the order they are named, by name.

    Args:
        names: suites, each once, such as `banking`; or `all` alone, which is what the evaluation takes by default.

    Raises:
        Malformed: no such suite, or `workspace` beside `workspace_plus`, which holds it.
    """
    package_version()
    from inspect_evals.agentdojo.dataset import TASK_SUITES

    known: Mapping[str, Any] = TASK_SUITES
    if list(names) == [ALL]:
        names = sorted(name for name in known if name != WITHOUT)
    if not names or len(set(names)) != len(names):
        raise Malformed(
            "usage", f"expected suite names, each once, found {shown(list(names))}", remedy="name at least one suite"
        )
    for name in names:
        if name not in known:
            raise Malformed(
                "unknown-suite",
                f"expected a suite out of {', '.join(sorted(known))}, found {shown(name)}",
                remedy=f"name one of them, or `{ALL}` alone",
            )
    if {"workspace", "workspace_plus"} <= set(names):
        raise Malformed(
            "usage",
            "expected one of workspace and workspace_plus, found both: the second holds the first's tasks",
            remedy="leave one out",
        )
    return {name: known[name] for name in names}


def check_sandbox_tasks(choice: str) -> SandboxTasks:
    """The choice of tasks that need a sandbox, as the evaluation's argument `with_sandbox_tasks` takes it.

    Raises:
        Malformed: another word.
    """
    for known in get_args(SandboxTasks):
        if choice == known:
            word: SandboxTasks = known
            return word
    raise Malformed(
        "usage", f"expected yes, no or only, found {shown(choice)}", remedy="say which tasks the runs were of"
    )
