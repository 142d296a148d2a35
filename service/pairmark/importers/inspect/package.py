"""The installed inspect_ai package: an optional extra, imported only when a log is read. The log format is not frozen; its API is."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import version
from typing import Any

from pairmark.domain.errors import Malformed, shown

SUPPORTED_FROM = (0, 3, 200)
"""First release whose logs are read: spans and pooled events are as they are known here."""

_NUMBERS = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?![0-9])")


def log_api() -> Any:
    """The module `inspect_ai.log`.

    Raises:
        Malformed: it is not installed, or older than the first release that is supported.
    """
    try:
        api = import_module("inspect_ai.log")
    except ImportError:
        raise Malformed(
            "missing-extra",
            "expected the inspect_ai package, found none",
            remedy="install it: pip install 'pairmark[inspect]'",
        ) from None
    installed = version("inspect_ai")
    if is_too_old(installed):
        raise Malformed(
            "harness-version",
            f"expected inspect_ai {_first()} or newer, found {installed}",
            remedy="install a newer one: pip install 'pairmark[inspect]'",
        )
    return api


def is_too_old(text: str) -> bool:
    """Whether a version is before the first that is supported. A text that is no version is not."""
    numbers = _NUMBERS.match(text)
    return numbers is not None and tuple(map(int, numbers.groups())) < SUPPORTED_FROM


def check_log_version(written_by: str | None, file: str) -> None:
    """Refuse a log of a release whose logs are not known here.

    Raises:
        Malformed: the log says that an older release wrote it.
    """
    if written_by is not None and is_too_old(written_by):
        raise Malformed(
            "unsupported-version",
            f"expected a log written by inspect_ai {_first()} or newer, found {shown(written_by)}",
            file,
            remedy="run the evaluation again with a newer release",
        )


def _first() -> str:
    return ".".join(map(str, SUPPORTED_FROM))
