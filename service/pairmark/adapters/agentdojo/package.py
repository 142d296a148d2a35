"""The installed agentdojo package: an optional extra, imported only when something is asked of it."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

from pairmark.domain.errors import Malformed, shown

SUPPORTED = "0.1.35"
"""The release whose inner workings the export and the examples rely on."""


def package_version() -> str:
    """Version of the installed package.

    Raises:
        Malformed: it is not installed, or another release than the one that is known here.
    """
    try:
        import_module("agentdojo.task_suite.load_suites")
    except ImportError:
        raise Malformed(
            "missing-extra",
            "expected the agentdojo package, found none",
            remedy="install it: pip install 'pairmark[agentdojo]'",
        ) from None
    installed = version("agentdojo")
    if installed != SUPPORTED:
        raise Malformed(
            "harness-version",
            f"expected agentdojo {SUPPORTED}, found {installed}",
            remedy=f"install agentdojo=={SUPPORTED}, or export the suite from folders of runs",
        )
    return installed


def load_suite(benchmark_version: str, name: str) -> Any:
    """The harness' own suite object.

    Raises:
        Malformed: no such benchmark version, or no such suite in it.
    """
    package_version()
    from agentdojo.task_suite import load_suites

    known = sorted(load_suites._SUITES)
    if benchmark_version not in known:
        raise Malformed(
            "unknown-version",
            f"expected a benchmark version out of {', '.join(known)}, found {shown(benchmark_version)}",
            remedy="name one of them",
        )
    suites = load_suites.get_suites(benchmark_version)
    if name not in suites:
        raise Malformed(
            "unknown-suite",
            f"expected a suite out of {', '.join(sorted(suites))}, found {shown(name)}",
            remedy="name one of them",
        )
    return suites[name]
