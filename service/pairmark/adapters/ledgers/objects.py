"""The object store: immutable ledgers (and other bytes) under the digest of their content.

A ledger's key is its ledger digest, not the digest of its Parquet bytes: equal ledgers share an object whatever
wrote them, and the content can be verified by computing the digest again.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pairmark.domain.errors import Malformed, NotFound, shown

_key = re.compile(r"sha256:([0-9a-f]{2})([0-9a-f]{62})\Z")

COPIES = "fetched-"
"""How folders of local copies begin, in scratch; each is locked by the process whose copies it holds."""


@dataclass(frozen=True)
class KeptObject:
    """An object that is there. `changed` is when it was last put, seconds since 1970."""

    digest: str
    size: int
    changed: float


def key_of(digest: str) -> str:
    """Where the object of a digest lies below the store's root, such as `objects/ab/cdef...`.

    Raises:
        Malformed: no digest, and so perhaps a path to somewhere else.
    """
    matched = _key.match(digest)
    if matched is None:
        raise Malformed(
            "invalid-digest", f"expected `sha256:` and 64 lower-case hexadecimal digits, found {shown(digest)}", remedy="check the digest"
        )
    return f"objects/{matched.group(1)}/{matched.group(2)}"


def digest_at(key: str) -> str | None:
    """The digest whose object lies under `key`; None where no object of ours does."""
    digest = f"sha256:{''.join(key.split('/')[-2:])}"
    return digest if _key.match(digest) and key == key_of(digest) else None


class ObjectStore(Protocol):
    """Where immutable objects lie. All methods may be called from several threads and processes at once."""

    def scratch(self) -> Path:
        """A local folder for files on their way in."""
        ...

    def put_if_absent(self, digest: str, content: Path | bytes) -> bool:
        """Store `content` under `digest`, whole or not at all; a Path is consumed. False when it was there already.

        Either way the object counts as put now: what is put is not collected as old.
        """
        ...

    def exists(self, digest: str) -> bool: ...

    def fetched(self, digest: str) -> AbstractContextManager[Path]:
        """A local file with the object's bytes, to be read only, as long as the context lasts. NotFound if there is none."""
        ...

    def verify(self, digest: str) -> bool:
        """True when the ledger stored under `digest` still has that digest."""
        ...

    def kept(self) -> Iterator[KeptObject]:
        """All objects."""
        ...

    def remove_if_older(self, digest: str, than: float) -> bool:
        """Remove the object unless it was put at or after `than` (seconds since 1970); whether it was removed."""
        ...

    def require_writable(self) -> None:
        """Write and remove something small; OSError or Unavailable where that fails."""
        ...

    def sweep(self, older_than: float) -> int:
        """Remove scratch entries last changed before `older_than` (seconds since 1970); how many there were."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


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
            if _touched(target):
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

    @contextmanager
    def fetched(self, digest: str) -> Iterator[Path]:
        """The object's file, to be read only."""
        yield self.open(digest)

    def verify(self, digest: str) -> bool:
        """True when the ledger stored under `digest` can be read and still has that digest."""
        return holds(self.open(digest), digest)

    def digests(self) -> Iterator[str]:
        """The digests of all objects."""
        return (each.digest for each in self.kept())

    def kept(self) -> Iterator[KeptObject]:
        """All objects, in the order of their digests."""
        for folder in sorted(self._objects.iterdir()):
            for path in sorted(folder.iterdir()):
                digest = digest_at(f"objects/{folder.name}/{path.name}")
                if digest is not None:
                    found = path.stat()
                    yield KeptObject(digest, found.st_size, found.st_mtime)

    def remove_if_older(self, digest: str, than: float) -> bool:
        """Remove the object unless it was put at or after `than` (seconds since 1970); whether it was removed.

        It is taken aside before its age is asked: a writer who finds it there renews it, and then it comes back; one who
        does not find it stores it again.
        """
        path = self._path(digest)
        handle, name = tempfile.mkstemp(prefix="removed-", dir=self._scratch)
        os.close(handle)
        aside = Path(name)
        try:
            path.replace(aside)
            if aside.stat().st_mtime < than:
                return True
            aside.replace(path)
        except FileNotFoundError:
            return False
        else:
            return False
        finally:
            aside.unlink(missing_ok=True)

    def require_writable(self) -> None:
        """Write and remove a small file."""
        with tempfile.TemporaryFile(dir=self._scratch) as probe:
            probe.write(b"writable")
            probe.flush()

    def close(self) -> None:
        """Nothing is held."""

    def sweep(self, older_than: float) -> int:
        """Remove scratch entries last changed before `older_than` (seconds since 1970); how many there were."""
        return sweep_scratch(self._scratch, older_than)

    def _path(self, digest: str) -> Path:
        return self._objects.parent / key_of(digest)

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


def _touched(path: Path) -> bool:
    """Whether the object is there; if so it counts as put now."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def holds(path: Path, digest: str) -> bool:
    """True when the file is a ledger that can be read and has this digest."""
    import pyarrow as pa

    from pairmark.adapters.ledgers.columnar import digest_of_object

    try:
        return digest_of_object(path) == digest
    except (pa.ArrowException, OSError, ValueError):
        return False


def sweep_scratch(scratch: Path, older_than: float) -> int:
    """Remove entries last changed before `older_than`, but no copies that a living process reads; how many there were."""
    removed = 0
    for path in list(scratch.iterdir()):
        try:
            if path.lstat().st_mtime >= older_than or _is_used(path):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        except FileNotFoundError:  # another sweep was quicker
            continue
        removed += 1
    return removed


def _is_used(path: Path) -> bool:
    if not path.name.startswith(COPIES):
        return False
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
