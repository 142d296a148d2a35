"""What the command's exit says. 0 to 6 are contract; the others are what Unix programs use."""

from __future__ import annotations

import re
from typing import Final

CERTIFIED: Final = 0
REFUSED: Final = 1
MALFORMED: Final = 2
QUARANTINED: Final = 3
REVOKED: Final = 4
SUPERSEDED: Final = 5
UNKNOWN: Final = 6
UNAVAILABLE: Final = 69
BUG: Final = 70
CANNOT_WRITE: Final = 74
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

OK: Final = CERTIFIED
USAGE: Final = MALFORMED

OF_VERDICT: Final = {"certified": CERTIFIED, "refused": REFUSED, "quarantined": QUARANTINED}

MEANINGS: Final = {
    CERTIFIED: "certified, valid or done",
    REFUSED: "refused or invalid; something stored is not what it should be, or has other content already",
    MALFORMED: "malformed input, wrong usage, or something named that is not there",
    QUARANTINED: "quarantined: held until a reviewer disproves what is suspicious",
    REVOKED: "revoked",
    SUPERSEDED: "superseded",
    UNKNOWN: "signature, inclusion or status could not be checked",
    UNAVAILABLE: "the service or its database cannot be reached, or is too busy",
    BUG: "a bug of Pairmark: please report it; `PAIRMARK_DEBUG=1` shows the traceback",
    CANNOT_WRITE: "output cannot be written",
    INTERRUPTED: "interrupted",
    BROKEN_PIPE: "nobody reads the output any more",
}
"""What each means, in the words of the help and of the pages."""


def sentence() -> str:
    """Codes and their meanings in one sentence, without what follows a colon or semicolon."""
    return "Exit: " + "; ".join(f"{code} {re.split('[:;]', meaning)[0]}" for code, meaning in MEANINGS.items()) + "."


def page_table() -> str:
    """The table of the pages, in Markdown."""
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in MEANINGS.items())
    return f"| exit | meaning |\n|---|---|\n{rows}"
