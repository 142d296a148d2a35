"""Signed notes (C2SP signed-note): a text and signature lines under it, each naming its key by name and 4-byte id."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pairmark.domain.errors import Malformed, shown
from pairmark.provenance import ed25519

ED25519_ALGORITHM = 0x01
MAX_NOTE_BYTES = 1_000_000
MAX_SIGNATURES = 100
_SIGNATURE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/=]+)")

Sign = Callable[[bytes], bytes]


def _refused(found: str) -> Malformed:
    return Malformed("invalid-note", f"expected a signed note (C2SP signed-note), found {found}", remedy="fetch it again")


def decode_base64(text: str) -> bytes:
    """Canonical standard base64 only: padding present, no other characters, no stray bits.

    Raises:
        Malformed: anything else.
    """
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise Malformed("invalid-base64", f"expected base64, found {shown(text)}", remedy="fetch it again") from None
    if base64.b64encode(data).decode("ascii") != text:
        raise Malformed("invalid-base64", f"expected canonical base64, found {shown(text)}", remedy="fetch it again")
    return data


def encode_base64(data: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(data).decode("ascii")


@dataclass(frozen=True)
class NoteKey:
    """An Ed25519 verifier key: its name and 32 public bytes."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """First four bytes of SHA-256(name || LF || algorithm || key)."""
        material = self.name.encode() + b"\n" + bytes([ED25519_ALGORITHM]) + self.public
        return hashlib.sha256(material).digest()[:4]

    def vkey(self) -> str:
        """`name+id+key`, as notes' tools write it."""
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(bytes([ED25519_ALGORITHM]) + self.public)}"


def parse_vkey(text: str) -> NoteKey:
    """Read `name+id+key`.

    Raises:
        Malformed: wrong shape, another algorithm, an id that is not the key's, a weak key.
    """
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    if not is_key_name(name):
        raise Malformed("invalid-key", f"expected name+id+key, found {shown(text)}", remedy="copy the whole key")
    material = decode_base64(encoded)
    if len(material) != 1 + ed25519.PUBLIC_SIZE or material[0] != ED25519_ALGORITHM:
        raise Malformed("invalid-key", "expected an Ed25519 note key, found another kind", remedy="pin an Ed25519 key")
    key = NoteKey(name, material[1:])
    if key.key_id.hex() != key_id:
        raise Malformed(
            "invalid-key", f"expected the key's own id {key.key_id.hex()}, found {shown(key_id)}", remedy="copy the whole key"
        )
    ed25519.load_public(key.public)
    return key


def is_key_name(name: str) -> bool:
    """Non-empty, no white space, no plus."""
    return bool(name) and "+" not in name and not any(c.isspace() or not c.isprintable() for c in name)


@dataclass(frozen=True)
class SignatureLine:
    """One signature under a note: the signer's name, the four bytes that tell its keys apart, and the signature itself."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True)
class Note:
    """`text` ends with a newline and is what is signed."""

    text: str
    signatures: tuple[SignatureLine, ...]


def parse_note(data: bytes) -> Note:
    """Split a signed note.

    Raises:
        Malformed: not UTF-8, control characters, no blank line, malformed signature lines, none or over 100 of them.
    """
    if len(data) > MAX_NOTE_BYTES:
        raise _refused(f"{len(data)} bytes, over the limit of {MAX_NOTE_BYTES}")
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _refused("bytes that are not UTF-8") from None
    if any(ord(c) < 0x20 and c != "\n" for c in whole):
        raise _refused("control characters")
    text, separator, block = whole.rpartition("\n\n")
    if not separator or not text or not block.endswith("\n"):
        raise _refused("no blank line before signatures")
    lines = block[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise _refused(f"{len(lines)} signatures, over the limit of {MAX_SIGNATURES}")
    return Note(text + "\n", tuple(_signature_line(line) for line in lines))


def _signature_line(line: str) -> SignatureLine:
    matched = _SIGNATURE_LINE.fullmatch(line)
    if matched is None or not is_key_name(matched[1]):
        raise _refused(f"a signature line {shown(line)}")
    raw = decode_base64(matched[2])
    if len(raw) < 5:
        raise _refused(f"a signature too short, {shown(line)}")
    return SignatureLine(matched[1], raw[:4], raw[4:])


def sign_note(text: str, key: NoteKey, sign: Sign) -> bytes:
    """The note with one signature line. `text` must end with a newline and hold no blank signature block of its own."""
    if not text.endswith("\n") or any(ord(c) < 0x20 and c != "\n" for c in text):
        raise ValueError("expected a text ending in a newline, without other control characters")
    line = f"— {key.name} {encode_base64(key.key_id + sign(text.encode()))}\n"
    return f"{text}\n{line}".encode()


def verified_by(note: Note, keys: Sequence[NoteKey]) -> tuple[NoteKey, ...]:
    """The keys whose signature on the note holds, each once. Lines under unknown keys are ignored.

    Raises:
        Malformed: a line under a known name and id whose signature does not hold.
    """
    held: list[NoteKey] = []
    for line in note.signatures:
        for key in keys:
            if key.name == line.name and key.key_id == line.key_id and key not in held:
                if not ed25519.verifies(key.public, line.signature, note.text.encode()):
                    raise Malformed(
                        "invalid-signature", f"expected a signature of {key.name} that holds, found one that does not",
                        remedy="do not trust this note",
                    )
                held.append(key)
    return tuple(held)
