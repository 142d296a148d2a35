"""Lines of JSON to columns, block by block. Only the keys that the mapping names are kept; nothing is held but one block.

msgspec decodes; it lets repeated keys pass, so what it decoded is counted against what was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec
import polars as pl

from pairmark.domain import strict_json
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.generic.cells import MAX_LINE_BYTES, tagged_json

_BLOCK_BYTES = 8 * 2**20
_ABSENT = msgspec.Raw(b"null")
_escape = re.compile(rb"\\.", re.DOTALL)
_blank = re.compile(rb"^[ \t\r]*$", re.MULTILINE)
_anything = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()
_values = msgspec.structs.astuple

Tree = dict[str, "Tree"]


def jsonl_frames(chunks: Iterable[bytes], columns: Iterable[str], *, file: str) -> Iterator[pl.DataFrame]:
    """Frames of tagged values in file order; a column is a key, or a JSON pointer such as `/result/passed`.

    Raises:
        Malformed: with the line.
    """
    wanted = list(columns)
    tree = _tree(wanted)
    first = 1
    for block in _blocks(chunks, file):
        if first == 1 and block.startswith(b"\xef\xbb\xbf"):
            block = block[3:]
        frame = _frame(block, tree, wanted, file, first)
        first += block.count(b"\n")
        yield frame


def _blocks(chunks: Iterable[bytes], file: str) -> Iterator[bytes]:
    waiting: list[bytes] = []
    size = lines = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size < _BLOCK_BYTES or b"\n" not in chunk:
            if size > _BLOCK_BYTES + MAX_LINE_BYTES:
                raise Malformed(
                    "too-large", f"expected lines of at most {MAX_LINE_BYTES} bytes, found a longer one", file, lines + 1,
                    remedy="write one JSON object per line",
                )  # fmt: skip
            continue
        data = b"".join(waiting)
        end = data.rfind(b"\n") + 1
        waiting, size = [data[end:]], len(data) - end
        lines += data.count(b"\n")
        yield data[:end]
    data = b"".join(waiting)
    if data:
        yield data


def _frame(block: bytes, tree: Tree, wanted: list[str], file: str, first: int) -> pl.DataFrame:
    try:
        rows = _anything.decode_lines(block)
        expected = block.count(b"\n") + (not block.endswith(b"\n")) - _blank_lines(block)
        if len(rows) != expected or _quotes(_encoder.encode_lines(rows)) != _quotes(block):
            raise ValueError
        found = _extracted(block, tree, "")
        return pl.DataFrame([tagged_json(found[name]).rename(name) for name in wanted])
    except (msgspec.MsgspecError, ValueError, RecursionError, pl.exceptions.PolarsError):
        raise _first_fault(block, wanted, file, first) from None


def _blank_lines(block: bytes) -> int:
    return len(_blank.findall(block.removesuffix(b"\n")))


def _quotes(data: bytes) -> int:
    return (_escape.sub(b"", data) if b"\\" in data else data).count(b'"')


def _extracted(lines: bytes, tree: Tree, at: str) -> dict[str, pl.Series]:
    """The JSON text of every leaf of `tree`, by name: a key at the top, a pointer below."""
    keys = list(tree)
    fields = [(f"f{number}", msgspec.Raw, _ABSENT) for number in range(len(keys))]
    kind = msgspec.defstruct("Line", fields, rename={f"f{number}": key for number, key in enumerate(keys)}, gc=False)
    every: list[Any] = list(chain.from_iterable(map(_values, msgspec.json.Decoder(kind).decode_lines(lines))))
    found: dict[str, pl.Series] = {}
    for place, key in enumerate(keys):
        column = pl.Series(key, list(map(bytes, every[place :: len(keys)])), dtype=pl.Binary).cast(pl.String)
        pointer = f"{at}/{strict_json.escape_pointer(key)}"
        found[pointer] = column
        if not at:
            found[key] = column
        if tree[key]:
            below = column.replace("null", "{}").str.join("\n").item()
            found.update(_extracted(below.encode(), tree[key], pointer))
    return found


def _tree(columns: Iterable[str]) -> Tree:
    tree: Tree = {}
    for column in columns:
        here = tree
        for part in parts_of(column):
            here = here.setdefault(part, {})
    return tree


def parts_of(column: str) -> list[str]:
    """The keys on the way to a column: one, or those of a JSON pointer."""
    if not column.startswith("/"):
        return [column]
    return [part.replace("~1", "/").replace("~0", "~") for part in column[1:].split("/")]


def _first_fault(block: bytes, wanted: list[str], file: str, first: int) -> Malformed:
    """The first line that cannot be taken, in the plain reader's words. Called once: reading ends with it."""
    for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), first):
        if not line.strip(b" \t\r"):
            continue
        try:
            value = strict_json.parse(line)
        except Malformed as problem:
            return Malformed(problem.code, problem.message, file, number, problem.pointer, problem.remedy)
        if not isinstance(value, dict):
            return Malformed(
                "not-an-object", f"expected one JSON object, found {shown(value, 60)}", file, number, "",
                "write one episode per line; records inside one large document have to be written out first",
            )  # fmt: skip
        for column in wanted:
            here: Any = value
            for part in parts_of(column):
                if here is not None and not isinstance(here, dict):
                    return Malformed(
                        "invalid-type", f"expected an object on the way to {shown(column)}, found {shown(here, 60)}", file, number,
                        remedy="correct the pointer in the mapping",
                    )  # fmt: skip
                here = None if here is None else here.get(part)
    return Malformed(
        "not-json", "expected one JSON object on each line, found an object over several lines or several on one", file, first,
        remedy="write one episode per line",
    )  # fmt: skip
