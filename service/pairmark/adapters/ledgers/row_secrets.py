"""The secret that salts a ledger's rows: random, one for each ledger, in a file that only its owner reads, never shown whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from pairmark.domain.errors import Malformed
from pairmark.provenance.frontier import Frontier
from pairmark.provenance.rows import SECRET_SIZE, row_leaf, salt_of


class RowSecrets:
    """Secrets in a folder, under the digest of their ledger; written once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, ledger: str) -> bytes:
        """The secret of a ledger; made when it is first asked for, and on the disk when this returns.

        Raises:
            Malformed: the stored secret is damaged.
        """
        path = self._folder / ledger.removeprefix("sha256:")
        if not path.exists():
            self._make(path)
        found = path.read_bytes()
        if len(found) != SECRET_SIZE:
            raise Malformed(
                "bad-row-secret", f"expected a secret of {SECRET_SIZE} bytes, found {len(found)}", str(path), remedy="restore it from a backup"
            )
        return found

    def root(self, ledger: str, pieces: Iterable[bytes]) -> str:
        """Root over the salted rows of a ledger, given as pieces of whole canonical lines."""
        secret, edge = self.of(ledger), Frontier()
        for piece in pieces:
            for line in piece.splitlines(keepends=True):
                edge.append(row_leaf(salt_of(secret, edge.size), line))
        return f"sha256:{edge.root().hex()}"

    def _make(self, path: Path) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = self._folder / f".{secrets.token_hex(8)}"
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(secrets.token_bytes(SECRET_SIZE))
            out.flush()
            os.fsync(out.fileno())
        try:
            path.hardlink_to(scratch)  # the first one stays
        except FileExistsError:
            pass
        finally:
            scratch.unlink()
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
