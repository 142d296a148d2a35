"""What a call to a service may end in instead of an answer."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.domain.documents.problem import Problem
from pairmark.domain.errors import PairmarkError, one_line


class ProblemError(PairmarkError):
    """The service refused; `problem` is what it said.

    `request_id` is what its log calls the request; `retry_after` are the seconds after which it may be asked again, if it said so.
    """

    def __init__(self, problem: Problem, retry_after: float | None = None, request_id: str | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.retry_after = retry_after
        self.request_id = problem.request_id if problem.request_id is not None else request_id
        self.code = problem.code
        self.status = problem.status

    def __str__(self) -> str:
        """One line: where, what, code; of a fault of the service also what its log calls the request."""
        items = (item for item in self.problem.errors if item.pointer is not None or item.line is not None)
        first = next(items, None)
        place = ""
        if first is not None:
            place = " ".join(
                part for part in ("" if first.line is None else f"line {first.line}", first.pointer or "") if part
            )
        asked = f"; request {self.request_id}" if self.request_id is not None and self.status >= 500 else ""
        return one_line(f"{place + ': ' if place else ''}{self.problem.detail}{asked} [{self.code}]")


@dataclass(eq=False)
class NoAnswer(PairmarkError):
    """No service answered, or something else did."""

    code: str
    message: str
    remedy: str | None = None

    def __str__(self) -> str:
        return one_line(f"{self.message}; {self.remedy} [{self.code}]" if self.remedy else f"{self.message} [{self.code}]")
