"""Failures of the infrastructure, told by an error's text: being throttled, refused for payment, or a server's own error.

Such a text may name a filter or a limit as well (`503 - content filter unavailable`, `429 token limit per minute`): it then
tells of a service that failed, not of what it decided, and nothing is known of the agent.
"""

from __future__ import annotations

import re

_LABELLED = re.compile(
    r"(?:^|(?:error|status|response|http)[ _]?code|\bcode|status|http(?:/[0-9.]+)?)[\s:=\"'(]{0,4}(?:402|429|5[0-9]{2})\b", re.IGNORECASE
)
_AMOUNT = r"\s{0,2}(?:tokens?|characters?|chars|words?|messages?|steps?|turns?|iter(?:ation)?s?|calls?|ms|s|seconds?|minutes?|bytes)\b"
_BARE = re.compile(
    r"(?<![\w.,$#/+=-])(?<!limit )(?<!limit: )(?<!length )(?<!length: )(?<!tokens: )(?<!steps: )(?<!turns: )(?<!than )(?<!most )(?<!max )"
    rf"(?<!of )(?<!is )(?<![<>] )(?:402|429|50[0-4]|52[0-9])(?![\w%]|[.,][0-9])(?!{_AMOUNT})",
    re.IGNORECASE,
)
"""A status code without a label; not an amount of something, nor part of a name."""

_WORDS = re.compile(
    r"rate[ _-]?limit|too[ _]many[ _]requests|resource[ _]?exhausted|(?:exceeded|insufficient)\W{1,2}(?:\w+ ){0,3}quota|insufficient_quota"
    r"|tokens?(?: limit)? per (?:minute|min|hour|day)|payment[ _]required|insufficient (?:credits|funds|balance)"
    r"|internal[ _]?server[ _]?error|bad[ _]?gateway|service[ _]?(?:temporarily )?unavailable|gateway[ _]?time-?out|overloaded(?:_error|error)?\b",
    re.IGNORECASE,
)


def is_infrastructure(text: str) -> bool:
    """Whether the text has a status code of 402, 429 or 5xx, or says the same in words, whatever else it says."""
    return any(pattern.search(text) is not None for pattern in (_LABELLED, _BARE, _WORDS))
