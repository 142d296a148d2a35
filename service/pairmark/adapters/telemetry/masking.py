"""Takes secrets out of what is shown: keys, bearer tokens, passphrases, passwords in URLs, and the values of secret variables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

MASK = "***"

_private_key = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_note_key = re.compile(r"PRIVATE\+KEY\+[^\s\"'\\]+")
_bearer = re.compile(r"\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{4,}", re.IGNORECASE)
_api_key = re.compile(r"\bpmk\.[A-Za-z0-9._-]{8,}")
_in_url = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@\"']*:)[^\s/@\"']+(?=@)", re.IGNORECASE)
_named = re.compile(
    r"((?:pass(?:word|phrase|wd)?|secret(?:[_-]?(?:access[_-]?)?key)?|(?:api|access|private|session)[_-]?(?:key|token)(?:[_-]?id)?|token|credential|"
    r"signature|cookie)[\"']?\s*[=:]\s*[\"']?)(?!\*\*\*)[^\s\"'&,;\\]+",
    re.IGNORECASE,
)

_secret_variable = re.compile(r"SECRET|PASSW|PASSPHRASE|TOKEN|CREDENTIAL|API_?KEY|ACCESS_KEY|KEY_PIN", re.IGNORECASE)
_url_password = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")

SHORTEST = 4
"""Shorter values of secret variables are not looked for: they would be found everywhere."""


def masked(text: str, literals: Iterable[str] = ()) -> str:
    """`text` with every secret replaced by `***`; `literals` are secrets known word for word."""
    for literal in literals:
        if literal in text:
            text = text.replace(literal, MASK)
    text = _private_key.sub(MASK, text)
    text = _note_key.sub(MASK, text)
    text = _in_url.sub(rf"\1{MASK}", text)
    text = _bearer.sub(rf"\1\2{MASK}", text)
    text = _api_key.sub(MASK, text)
    return _named.sub(rf"\1{MASK}", text)


def is_secret_name(variable: str) -> bool:
    """Whether the value of an environment variable of this name is never to be shown."""
    return _secret_variable.search(variable) is not None


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Secrets that the environment holds, longest first, as they are and as JSON writes them."""
    found: set[str] = set()
    for name, value in environment.items():
        if is_secret_name(name):
            found.add(value)
        if name.startswith("PAIRMARK_"):
            found.update(_url_password.findall(value))
    found |= {json.dumps(each)[1:-1] for each in found}
    return tuple(sorted((each for each in found if len(each) >= SHORTEST), key=lambda each: (-len(each), each)))
