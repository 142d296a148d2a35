"""`log.jsonl`: the whole log as lines, and its replay in one pass.

A line is `{"entry": ..., "envelope": base64 or null, "index": n}` in RFC 8785 form; the last is `{"checkpoint": "..."}`. The
entry's bytes inside the line are the bytes that were hashed, so they are cut out, not written again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.errors import Malformed
from pairmark.provenance.entries import Entry, ReleasedEntry, StatusEntry, parse_entry
from pairmark.provenance.merkle import leaf_hash
from pairmark.provenance.note import decode_base64, encode_base64

_LINE = re.compile(rb'\{"entry":(\{.*\}),"envelope":(null|"[A-Za-z0-9+/=]*"),"index":(0|[1-9][0-9]{0,15})\}', re.DOTALL)


@dataclass(frozen=True)
class LoggedEntry:
    """An entry at its index, with the bytes of the envelope that it names, where it names one."""

    index: int
    entry: Entry
    leaf: bytes
    envelope: bytes | None


@dataclass(frozen=True)
class Replay:
    """A whole log: entries in order, and the signed checkpoint at its end (bytes, not checked)."""

    entries: tuple[LoggedEntry, ...]
    checkpoint: bytes

    @property
    def leaves(self) -> Sequence[bytes]:
        """Leaf hashes in order."""
        return [entry.leaf for entry in self.entries]


def export_lines(entries: Iterable[tuple[bytes, bytes | None]], checkpoint: bytes) -> Iterator[bytes]:
    """Lines of `log.jsonl`, each with its newline, from (entry bytes, envelope bytes or none) in log order."""
    for index, (entry, envelope) in enumerate(entries):
        beside = b"null" if envelope is None else b'"' + encode_base64(envelope).encode() + b'"'
        yield b'{"entry":%s,"envelope":%s,"index":%d}\n' % (entry, beside, index)
    yield canonical_bytes({"checkpoint": checkpoint.decode()}) + b"\n"


def replay(data: bytes, *, file: str | None = None) -> Replay:
    """Read an exported log in one pass.

    Raises:
        Malformed: naming the line: not in this form, an index out of turn, an entry that is none, or an envelope that is
            not the one its entry names.
    """
    lines = data.split(b"\n")
    if len(lines) < 2 or lines[-1]:
        raise Malformed("invalid-log", "expected lines that end in a newline", file, remedy="export the log again")
    entries = tuple(_entry(line, index, file) for index, line in enumerate(lines[:-2]))
    return Replay(entries, _checkpoint(lines[-2], file, len(lines) - 1))


def _entry(line: bytes, index: int, file: str | None) -> LoggedEntry:
    found = _LINE.fullmatch(line)
    if found is None or int(found[3]) != index:
        raise Malformed(
            "invalid-log", f"expected the entry of index {index} in RFC 8785 form", file, index + 1, remedy="export the log again"
        )
    entry = parse_entry(found[1], file=file, line=index + 1)
    named: str | None = getattr(entry.body, "envelope", None)
    envelope = None if found[2] == b"null" else decode_base64(found[2][1:-1].decode())
    # Of a certificate that is not published. Whoever verifies one that an entry names needs its envelope, and asks for it there.
    withheld = envelope is None and isinstance(entry, ReleasedEntry | StatusEntry)
    if not withheld and (None if envelope is None else digest_of_bytes(envelope)) != named:
        raise Malformed(
            "wrong-envelope", f"expected beside the entry the envelope it names ({named or 'none'})", file, index + 1,
            remedy="export the log again",
        )
    return LoggedEntry(index, entry, leaf_hash(found[1]), envelope)


def _checkpoint(line: bytes, file: str | None, number: int) -> bytes:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    whole = isinstance(value, dict) and set(value) == {"checkpoint"} and isinstance(value["checkpoint"], str)
    if not whole or canonical_bytes(value) != line:
        raise Malformed("invalid-log", "expected a checkpoint on the last line", file, number, remedy="export the whole log")
    checkpoint: str = value["checkpoint"]
    return checkpoint.encode()
