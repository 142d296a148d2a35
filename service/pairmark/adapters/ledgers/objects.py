"""The object store: immutable ledgers (and other bytes) under the digest of their content.

A ledger's key is its ledger digest, not the digest of its Parquet bytes: equal ledgers share an object whatever
wrote them, and the content can be verified by computing the digest again.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pairmark.domain.errors import Malformed, NotFound, shown

_key = re.compile(r"sha256:([0-9a-f]{2})([0-9a-f]{62})\Z")


class ObjectStore(Protocol):
    """Where immutable objects lie. All methods may be called from several threads and processes at once."""

    def scratch(self) -> Path:
        """A folder for files on their way in, on the file system of the objects."""

    def put_if_absent(self, digest: str, content: Path | bytes) -> bool:
        """Store `content` under `digest`, whole or not at all; a Path is consumed. False when it was there already."""

    def exists(self, digest: str) -> bool: ...

    def open(self, digest: str) -> Path:
        """A local file with the object's bytes, to be read only. NotFound if there is none."""

    def verify(self, digest: str) -> bool:
        """True when the ledger stored under `digest` still has that digest."""


class FileObjectStore:
    """Objects as files below one folder: `objects/ab/cdef...`, and `scratch/` for what is on its way in."""

    def __init__(self, root: Path) -> None:
        self._objects, self._scratch = root / "objects", root / "scratch"
        for folder in (self._objects, self._scratch):
            folder.mkdir(parents=True, exist_ok=True)

    def scratch(self) -> Path:
        """A folder for files on their way in, on the file system of the objects."""
        return self._scratch

    def put_if_absent(self, digest: str, content: Path | bytes) -> bool:
        """Store `content` under `digest`, whole or not at all; a Path is consumed. False when it was there already.

        The bytes reach the disk before the name does: a crash leaves at most a scratch file.
        """
        target = self._path(digest)
        made = self._landed(content)
        try:
            if target.exists():
                return False
            if not target.parent.is_dir():
                target.parent.mkdir(exist_ok=True)
                _sync_folder(self._objects)
            # Where two writers meet here, the second replaces an object with an equal one.
            made.replace(target)
            _sync_folder(target.parent)
            return True
        finally:
            made.unlink(missing_ok=True)

    def exists(self, digest: str) -> bool:
        """Whether an object lies under `digest`."""
        return self._path(digest).is_file()

    def open(self, digest: str) -> Path:
        """The object's file, to be read only.

        Raises:
            NotFound: nothing is stored under `digest`.
        """
        path = self._path(digest)
        if not path.is_file():
            raise NotFound("no-such-object", f"expected a stored object, found none under {digest}", "check the digest")
        return path

    def verify(self, digest: str) -> bool:
        """True when the ledger stored under `digest` can be read and still has that digest."""
        import pyarrow as pa

        from pairmark.adapters.ledgers.columnar import digest_of_object

        try:
            return digest_of_object(self.open(digest)) == digest
        except (pa.ArrowException, OSError, ValueError):
            return False

    def digests(self) -> Iterator[str]:
        """The digests of all objects."""
        for folder in sorted(self._objects.iterdir()):
            for path in sorted(folder.iterdir()):
                if _key.match(f"sha256:{folder.name}{path.name}"):
                    yield f"sha256:{folder.name}{path.name}"

    def sweep(self, older_than: float) -> int:
        """Remove scratch entries last changed before `older_than` (seconds since 1970); how many there were."""
        removed = 0
        for path in list(self._scratch.iterdir()):
            try:
                if path.lstat().st_mtime >= older_than:
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            except FileNotFoundError:  # another sweep was quicker
                continue
            removed += 1
        return removed

    def _path(self, digest: str) -> Path:
        matched = _key.match(digest)
        if matched is None:
            raise Malformed(
                "invalid-digest", f"expected `sha256:` and 64 lower-case hexadecimal digits, found {shown(digest)}",
                remedy="check the digest",
            )
        return self._objects / matched.group(1) / matched.group(2)

    def _landed(self, content: Path | bytes) -> Path:
        """The content as a scratch file that is on the disk."""
        if isinstance(content, bytes):
            handle, name = tempfile.mkstemp(prefix="put-", dir=self._scratch)
            made = Path(name)
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
        elif content.parent == self._scratch:
            made = content
        else:
            handle, name = tempfile.mkstemp(prefix="put-", dir=self._scratch)
            os.close(handle)
            made = Path(name)
            shutil.copyfile(content, made)
            content.unlink()
        with made.open("rb+") as stream:
            os.fsync(stream.fileno())
        made.chmod(0o444)
        return made


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
