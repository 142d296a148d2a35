"""What the command's exit says. 0 to 6 are contract; the others are what Unix programs use."""

from __future__ import annotations

from typing import Final

CERTIFIED: Final = 0
REFUSED: Final = 1
MALFORMED: Final = 2
QUARANTINED: Final = 3
UNAVAILABLE: Final = 69
BUG: Final = 70
CANNOT_WRITE: Final = 74
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

OK: Final = CERTIFIED
USAGE: Final = MALFORMED

OF_VERDICT: Final = {"certified": CERTIFIED, "refused": REFUSED, "quarantined": QUARANTINED}
