"""The installed agentdojo package: an optional extra, imported only when something is asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

from pairmark.adapters.agentdojo.framework import changed_modules
from pairmark.domain.errors import Malformed, shown

SUPPORTED = "0.1.35"
"""The release whose inner workings the export, the probes and the examples rely on."""


def package_version() -> str:
    """Version of the installed package: 0.1.35, or another of its series with the same framework.

    What a release changes in suites, their data, tools and checks shows in digests. What it changes in the framework would
    not, so it is refused.

    Raises:
        Malformed: it is not installed, of another series, or its framework is not the one that is known here.
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
    if _series(installed) != _series(SUPPORTED):
        raise Malformed(
            "harness-version",
            f"expected agentdojo {SUPPORTED}, found {installed}",
            remedy=f"install agentdojo=={SUPPORTED}, or export the suite from folders of runs",
        )
    changed = changed_modules()
    if changed:
        raise Malformed(
            "harness-changed",
            f"expected agentdojo {installed} to run and check tasks as {SUPPORTED} does, found other source in {', '.join(changed)}",
            remedy=f"install agentdojo=={SUPPORTED}, or export the suite from folders of runs",
        )
    return installed


def _series(release: str) -> list[str]:
    return release.split(".")[:2]


ALL = "all"
"""Stands for every suite of a version, by name, where suites are named."""


def suite_names(benchmark_version: str, names: Sequence[str]) -> list[str]:
    """The suites that are meant, each once.

    Raises:
        Malformed: none, one twice, `all` beside others, or no such benchmark version or suite.
    """
    known = sorted(_suites_of(benchmark_version))
    if list(names) == [ALL]:
        return known
    if not names or len(set(names)) != len(names):
        raise Malformed(
            "usage", f"expected suite names, each once, found {shown(list(names))}", remedy="name at least one suite"
        )
    for name in names:
        if name not in known:
            raise Malformed(
                "unknown-suite",
                f"expected a suite out of {', '.join(known)}, found {shown(name)}",
                remedy=f"name one of them, or `{ALL}` alone",
            )
    return list(names)


def load_suite(benchmark_version: str, name: str) -> Any:
    """The harness' own suite object.

    Raises:
        Malformed: no such benchmark version, or no such suite in it.
    """
    (name,) = suite_names(benchmark_version, [name])
    return _suites_of(benchmark_version)[name]


def _suites_of(benchmark_version: str) -> Mapping[str, Any]:
    package_version()
    from agentdojo.task_suite import load_suites

    known = sorted(load_suites._SUITES)
    if benchmark_version not in known:  # asking for an unknown one would make it
        raise Malformed(
            "unknown-version",
            f"expected a benchmark version out of {', '.join(known)}, found {shown(benchmark_version)}",
            remedy="name one of them",
        )
    found: Mapping[str, Any] = load_suites.get_suites(benchmark_version)
    return found
