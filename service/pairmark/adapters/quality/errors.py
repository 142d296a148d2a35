"""What the gate raises when it cannot answer. The rule that asked is then `crashed`, and the pair refused."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.domain.errors import PairmarkError, one_line


@dataclass(eq=False)
class QualityGateFault(PairmarkError):
    """The validating library dropped, failed or miscounted an expectation; its answer is not used.

    `code` is `expectation-dropped`, `expectation-crashed` or `counts-disagree`.
    """

    code: str
    message: str

    def __str__(self) -> str:
        return one_line(f"{self.message} [{self.code}]")
