"""The one error root. Every error says what was expected, what was found, where, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


class PairmarkError(Exception):
    """Root of every error Pairmark raises on purpose; `code` is stable and public."""

    code: str


@dataclass(eq=False)
class Malformed(PairmarkError):
    """Input that cannot be read as the document it claims to be (exit 2, HTTP 400/413/415/422).

    Attributes:
        code: stable kebab-case word, e.g. `duplicate-key`.
        message: what was expected and what was found, one sentence without a full stop.
        file: name as the person gave it, when the input was a file.
        line: 1-based line, when known.
        pointer: RFC 6901 JSON pointer, when known ("" is the whole document).
        remedy: what to do about it.
    """

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    pointer: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        """One line: where, what, what to do, code. Control characters are escaped so that it stays one line."""
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        if self.pointer is not None:
            place = f"{place} {self.pointer or '(whole document)'}".strip()
        text = f"{place}: {self.message}" if place else self.message
        if self.remedy:
            text += f"; {self.remedy}"
        return one_line(f"{text} [{self.code}]")

    def located(self, *, file: str | None = None, line: int | None = None, pointer: str | None = None) -> Malformed:
        """The same error with the places filled in that it does not know yet."""
        return Malformed(
            code=self.code,
            message=self.message,
            file=self.file if self.file is not None else file,
            line=self.line if self.line is not None else line,
            pointer=self.pointer if self.pointer is not None else pointer,
            remedy=self.remedy,
        )


@dataclass(eq=False)
class Refusal(PairmarkError):
    """A request that cannot be met: what was expected and found, and what to do. Its kinds say why, and so with which status."""

    code: str
    message: str
    remedy: str | None = None

    def __str__(self) -> str:
        return one_line(f"{self.message}; {self.remedy} [{self.code}]" if self.remedy else f"{self.message} [{self.code}]")


class Conflict(Refusal):
    """A well-formed request that contradicts what is stored (HTTP 409)."""


class NotFound(Refusal):
    """A name, label, digest or id that nothing is stored under (HTTP 404)."""


def one_line(text: str, limit: int = 2000) -> str:
    """`text` with control, bidirectional and line-separating characters escaped, cut at `limit` characters."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[: limit + 1])
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def shown(value: object, limit: int = 80) -> str:
    """A value as an error message shows it: `repr`, one line, cut at `limit` characters."""
    return one_line(repr(value), limit)


def shown_place(place: object, limit: int = 300) -> str:
    """A file, folder or place in one as an error message shows it: `repr`, one line, cut at its start, for its end says which it is."""
    text = repr(str(place))
    return one_line(text if len(text) <= limit else f"'…{text[2 - limit :]}", 2 * limit)
