"""The log's keys by role, and how a service comes by them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pairmark.adapters.keys import Signer, Signers, init_keys, load_signers, read_chain
from pairmark.adapters.keys.signers import TRUST_FILE
from pairmark.app.errors import Unavailable
from pairmark.provenance.checkpoint import Checkpoint
from pairmark.provenance.dsse import Envelope
from pairmark.provenance.note import NoteKey
from pairmark.provenance.public_keys import key_id
from pairmark.provenance.trust import RoleName, TrustChain

VARIABLE = "PAIRMARK_KEY_PASSPHRASE"
"""Environment variable with the passphrase of the key files."""


@dataclass(frozen=True)
class KeySigning:
    """`Signing` with a folder of keys."""

    signers: Signers

    @property
    def chain(self) -> TrustChain:
        return self.signers.chain

    @property
    def origin(self) -> str:
        return self.chain.current.origin

    def trust(self) -> bytes:
        return self.chain.content()

    def log_keys(self) -> tuple[NoteKey, ...]:
        return self.chain.current.log_keys()

    def sign_checkpoint(self, head: Checkpoint) -> bytes:
        signer = self._valid("log", head.size - 1)
        return head.signed(NoteKey(self.origin, signer.public), signer.sign)

    def sign_certificate(self, payload: bytes, index: int) -> Envelope:
        self._valid("certifier", index)
        return self.signers.envelope("certifier", payload)

    def sign_status(self, payload: bytes, index: int) -> Envelope:
        self._valid("revoker", index)
        return self.signers.envelope("revoker", payload)

    def require_ready(self, index: int) -> None:
        """See to it that every role could sign for the log's next entry.

        Raises:
            Malformed: a key that was not loaded.
            Unavailable: a key outside its window.
        """
        for role in ("certifier", "revoker", "log"):
            self._valid(role, index)

    def _valid(self, role: RoleName, index: int) -> Signer:
        signer = self.signers.of(role)
        if key_id(signer.public) not in self.chain.current.keys_of(role, index):
            raise Unavailable(
                "key-not-valid", f"expected a {role} key that may sign for log index {index}, found {key_id(signer.public)}",
                "see its window in trust.json; `pairmark keys rotate` makes another", 3600,
            )
        return signer


def trusted(folder: Path) -> KeySigning:
    """What the folder's trust root says, without its keys: nothing can be signed with it.

    Raises:
        Malformed: there is none, or it does not hold.
    """
    return KeySigning(Signers(read_chain(folder), {}))


@dataclass(frozen=True)
class OpenedKeys:
    """The keys; `made` if this call made them."""

    signing: KeySigning
    made: bool


def open_keys(folder: Path, *, may_make: Callable[[], bool], origin: str | None = None) -> OpenedKeys:
    """The keys in `folder`; made there if there are none and `may_make` allows it.

    Raises:
        Unavailable: there are none, and none may be made.
        Malformed: keys that cannot be used.
    """
    words = os.environ.get(VARIABLE)
    passphrase = words.encode() if words else None
    made = False
    if not (folder / TRUST_FILE).exists():
        if not may_make():
            raise Unavailable(
                "no-keys", f"expected the keys of this log in {folder}, found none",
                "set PAIRMARK_KEYS to their folder; for a new log make some with `pairmark keys init`", 3600,
            )
        made = _make(folder, origin or f"pairmark.invalid/{secrets.token_hex(4)}", passphrase)
    return OpenedKeys(KeySigning(load_signers(folder, passphrase)), made)


def _make(folder: Path, origin: str, passphrase: bytes | None) -> bool:
    """Make keys beside `folder` and move them in place at once, so that a killed start leaves no half of them."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = folder.parent / f".keys-{secrets.token_hex(8)}"
    init_keys(scratch, origin, passphrase)
    try:
        scratch.rename(folder)
    except OSError:  # another process was quicker, or the folder is in use
        for file in scratch.iterdir():
            file.unlink()
        scratch.rmdir()
        if not (folder / TRUST_FILE).exists():
            raise
        return False
    return True
