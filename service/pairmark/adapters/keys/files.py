"""Key files: Ed25519, PKCS #8 PEM, mode 0600, encrypted where there is a passphrase; written atomically and durably."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from pairmark.domain.errors import Malformed

MAX_KEY_BYTES = 65_536


def write_durably(path: Path, data: bytes, mode: int) -> None:
    """The file appears whole or not at all, with these permissions from its first moment, and is on disk on return."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    scratch = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            os.fchmod(out.fileno(), mode)
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def remove_scratch(path: Path) -> None:
    """Remove what `write_durably` of this file left when the process was killed in it."""
    for left in path.parent.glob(f".{path.name}.*"):
        left.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_key(path: Path, key: Ed25519PrivateKey, passphrase: bytes | None) -> None:
    """Write a private key, encrypted if there is a passphrase."""
    encryption = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    write_durably(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption), 0o600)


def read_key(path: Path, passphrase: bytes | None) -> Ed25519PrivateKey:
    """Read a private key that nobody else can read.

    Raises:
        Malformed: missing, readable by group or others, not an Ed25519 PKCS #8 PEM file, or a wrong or missing passphrase.
    """
    file = str(path)
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            data = stream.read(MAX_KEY_BYTES)
    except OSError as problem:
        raise Malformed(
            "unreadable-key", f"expected a key file, found: {problem.strerror}", file, remedy="check the path and its permissions"
        ) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Malformed(
            "exposed-key", f"expected a key that only its owner can read (mode 0600), found mode {stat.S_IMODE(mode):04o}", file,
            remedy=f"chmod 600 {path.name}; if anybody else could have read it, revoke it",
        )
    try:
        key = load_pem_private_key(data, passphrase)
    except TypeError:
        expected, found = ("no passphrase: the key is not encrypted", "one") if passphrase is not None else ("a passphrase", "none")
        raise Malformed(
            "key-passphrase", f"expected {expected}, found {found}", file, remedy="set PAIRMARK_KEY_PASSPHRASE as the key was made"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        what = "an Ed25519 key in PKCS #8 PEM" + ("" if passphrase is None else ", and its passphrase")
        raise Malformed(
            "invalid-key", f"expected {what}; found one that cannot be read", file, remedy="check the file and PAIRMARK_KEY_PASSPHRASE"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise Malformed("invalid-key", "expected an Ed25519 key, found another kind", file, remedy="make a new key")
    return key
