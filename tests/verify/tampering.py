"""Seeded changes of bytes and of structure, to everything a verifier reads."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

from pairmark.domain.canonical import canonical_bytes
from pairmark.provenance.exact import exact_bytes

Change = Callable[[Random, bytes], bytes]


def one_byte(random: Random, data: bytes) -> bytes:
    """One byte replaced."""
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ random.randrange(1, 256)]) + data[place + 1 :]


def one_bit(random: Random, data: bytes) -> bytes:
    """One bit flipped."""
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]


def cut(random: Random, data: bytes) -> bytes:
    """Some bytes taken out."""
    start = random.randrange(len(data))
    return data[:start] + data[start + random.randrange(1, 20) :]


def grown(random: Random, data: bytes) -> bytes:
    """Some bytes put in, mostly ones that JSON and notes use."""
    place = random.randrange(len(data) + 1)
    piece = random.choice([b" ", b"\n", b"\t", b"0", b",", b'"', b"}", b"=", b"\\u0000", b"null", bytes([random.randrange(256)])])
    return data[:place] + piece + data[place:]


def doubled(random: Random, data: bytes) -> bytes:
    """A stretch of bytes written twice, or two stretches exchanged."""
    first, second, third = sorted(random.randrange(len(data) + 1) for _ in range(3))
    middle, last = data[first:second], data[second:third]
    return data[:first] + (last + middle if random.random() < 0.5 else middle + middle + last) + data[third:]


def _written(value: Any) -> bytes:
    """Canonical bytes; the quick way does not know fractions."""
    data = exact_bytes(value)
    return canonical_bytes(value) if b"0.5" in data else data


BYTES: tuple[Change, ...] = (one_byte, one_bit, cut, grown, doubled)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        return found + [place for key, inner in value.items() for place in _places(inner, (*path, key))]
    if isinstance(value, list):
        return found + [place for number, inner in enumerate(value) for place in _places(inner, (*path, number))]
    return found


def _other(random: Random, value: Any) -> Any:
    """Another value, mostly of the same type."""
    if random.random() < 0.15:
        return random.choice([None, True, 0, -1, 2**53 - 1, "", "x", [], {}, 0.5])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random.choice([-1, 1, 1000])
    if isinstance(value, str):
        place = random.randrange(len(value) + 1)
        return value[:place] + random.choice("0a+/= \n–") + value[place + random.randrange(2) :]
    return None if value else [value]


def one_value(random: Random, value: Any) -> Any:
    """A JSON value with one place in it changed, taken out, doubled, exchanged or added to."""
    changed = copy.deepcopy(value)
    path = random.choice(_places(changed))
    parent: Any = changed
    for key in path[:-1]:
        parent = parent[key]
    last: Any = path[-1]
    kind = random.randrange(5)
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(last, copy.deepcopy(parent[last]))
    elif kind == 1:
        parent[random.choice(["extra", "", "schema", "payload", f"{last} "])] = copy.deepcopy(parent[last])
    elif kind == 2 and len(parent) > 1:
        other = random.choice([each for each in (parent if isinstance(parent, dict) else range(len(parent))) if each != last])
        parent[last], parent[other] = parent[other], parent[last]
    else:
        parent[last] = _other(random, parent[last])
    return changed


def structure(random: Random, data: bytes) -> bytes:
    """A canonical document with one value changed, canonical again."""
    return _written(one_value(random, json.loads(data)))


def payload_of(*path: str | int) -> Change:
    """A change of the payload of an envelope that stands at a path, canonical and encoded again; nobody signs it again."""

    def change(random: Random, data: bytes) -> bytes:
        value = json.loads(data)
        envelope: Any = value
        for key in path:
            envelope = envelope[key]
        payload = base64.b64decode(envelope["payload"])
        changed = structure(random, payload) if random.random() < 0.7 else random.choice(BYTES)(random, payload)
        envelope["payload"] = base64.b64encode(changed).decode()
        return _written(value)

    return change


def text_of(*path: str | int) -> Change:
    """A change of a text that stands at a path: a receipt with its checkpoint."""

    def change(random: Random, data: bytes) -> bytes:
        value = json.loads(data)
        parent: Any = value
        for key in path[:-1]:
            parent = parent[key]
        lines = parent[path[-1]].split("\n")
        kind, place = random.randrange(5), random.randrange(len(lines))
        if kind == 0:
            del lines[place]
        elif kind == 1:
            lines.insert(place, lines[random.randrange(len(lines))])
        elif kind == 2:
            other = random.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        else:
            lines[place] = _other(random, lines[place]) or ""
        parent[path[-1]] = "\n".join(map(str, lines))
        return _written(value)

    return change


def signature_of(*path: str | int) -> Change:
    """A change of the signatures of an envelope that stands at a path."""

    def change(random: Random, data: bytes) -> bytes:
        value = json.loads(data)
        envelope: Any = value
        for key in path:
            envelope = envelope[key]
        first = envelope["signatures"][0]
        raw = base64.b64decode(first["sig"])
        kind = random.randrange(4)
        if kind == 0:
            envelope["signatures"].append(dict(first))
        elif kind == 1:
            envelope["signatures"].append({**first, "keyid": random.randbytes(32).hex()})
        elif kind == 2:
            first["sig"] = base64.b64encode(random.choice(BYTES)(random, raw)).decode()
        else:
            first["keyid"] = random.randbytes(32).hex()
        return _written(value)

    return change


def lines_of(random: Random, data: bytes) -> bytes:
    """Lines of a log taken out, doubled, exchanged, or changed in their structure."""
    lines = data.splitlines(keepends=True)
    kind, place = random.randrange(5), random.randrange(len(lines))
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, lines[random.randrange(len(lines))])
    elif kind == 2:
        other = random.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    else:
        lines[place] = structure(random, lines[place]) + b"\n"
    return b"".join(lines)
