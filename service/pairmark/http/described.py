"""What each setting is, where its value came from, and what it may show of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from inspect import cleandoc
from typing import Literal

from pairmark.adapters.telemetry.masking import masked
from pairmark.http.settings import PREFIX, Settings

Source = Literal["default", "environment"]

SECRETS: Mapping[str, str] = {
    "PAIRMARK_KEY_PASSPHRASE": "opens encrypted key files",
    "PAIRMARK_KEY_PIN": "opens a hardware module that holds keys",
    "AWS_ACCESS_KEY_ID": "who the S3 store is asked as",
    "AWS_SECRET_ACCESS_KEY": "what proves it",
    "AWS_SESSION_TOKEN": "belongs to temporary credentials",
}
"""Variables beside the settings that hold secrets: read where they are needed, kept nowhere, never shown."""


@dataclass(frozen=True)
class Described:
    """A setting as an operator reads it; `value` and `default` as text, None where there is none."""

    name: str
    variable: str
    value: str | None
    source: Source
    default: str | None
    meaning: str


@cache
def meanings() -> Mapping[str, str]:
    """What `Settings` says of each of its attributes."""
    text = cleandoc(Settings.__doc__ or "")
    return dict(re.findall(r"^    (\w+): (.+)$", text, flags=re.MULTILINE))


def described(environment: Mapping[str, str]) -> tuple[Described, ...]:
    """Every setting as this environment gives it, and the secrets beside them; no secret is in the result.

    Raises:
        Malformed: a variable that is not what it should be.
    """
    settings = Settings.of(environment)
    found = [
        Described(
            each.name, variable := f"{PREFIX}{each.name.upper()}", _shown(getattr(settings, each.name)),
            "environment" if environment.get(variable, "").strip() else "default", _shown(each.default), meanings()[each.name],
        )
        for each in fields(Settings)
    ]  # fmt: skip
    for variable, meaning in SECRETS.items():
        given = bool(environment.get(variable))
        found.append(Described(variable.lower(), variable, "***" if given else None, "environment" if given else "default", None, meaning))
    return tuple(found)


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that begin like settings and are none: perhaps misspelt."""
    known = {each.variable for each in described({})} | {"PAIRMARK_SERVICE", "PAIRMARK_DEBUG", "PAIRMARK_API_KEY"}
    return tuple(sorted(name for name in environment if name.startswith(PREFIX) and name not in known))


def _shown(value: object) -> str | None:
    return None if value is None else masked(str(value))

