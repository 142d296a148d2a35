"""Uploads that are not whole yet: files in a folder that every process of the service shares, until they are sealed, given up or too old."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from pairmark.adapters.ledger_store import availability
from pairmark.app.errors import InFlight
from pairmark.domain.canonical import DIGEST_PREFIX, canonical_bytes, digest_of
from pairmark.domain.errors import Conflict, Malformed, NotFound, shown

_id = re.compile(r"upload-[0-9a-f]{32}")
_BLOCK = 1024 * 1024


@dataclass(frozen=True)
class UploadAbout:
    """What an upload is to be: the bytes as they are sent, `size` of them with this digest, for a run of an organisation."""

    run: str
    owner: str
    type: str
    encoding: str
    size: int
    digest: str

    @property
    def id(self) -> str:
        """Follows from what it is: the same upload asked for again is the same one."""
        return f"upload-{digest_of(asdict(self)).removeprefix(DIGEST_PREFIX)[:32]}"


@dataclass(frozen=True)
class Upload:
    """An upload as far as it came. `changed` is when its last bytes came, in seconds since 1970."""

    about: UploadAbout
    offset: int
    changed: float


class PartialUploads:
    """The folder. Each upload is a folder in it, with `about.json` and `content`; a lock on `content` orders those who change it."""

    def __init__(self, root: Path, *, seconds: int, most: int) -> None:
        """An upload is forgotten `seconds` after its last bytes; an organisation has at most `most` of them."""
        self._root, self._seconds, self._most = root, seconds, most

    def open(self, about: UploadAbout, now: float) -> tuple[Upload, bool]:
        """The upload that is to be this, and whether it is new.

        Raises:
            Conflict: the organisation has too many unfinished ones.
            Unavailable: there is no room for it.
        """
        with availability():
            self.sweep(now)
            there = self._read(about.id)
            if there is not None:
                return there, False
            others = sum(each.about.owner == about.owner for each in self._all())
            if others >= self._most:
                raise Conflict(
                    "too-many-uploads", f"expected at most {self._most} unfinished uploads of an organisation (PAIRMARK_PARTIAL_UPLOADS), found {others}",
                    "finish one, or delete it",
                )
            self._root.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(prefix="new-", dir=self._root))
            (made / "about.json").write_bytes(canonical_bytes(asdict(about)))
            (made / "content").touch()
            try:
                made.rename(self._root / about.id)
                new = True
            except OSError:  # another request was quicker
                shutil.rmtree(made)
                new = False
            return self.found(about.run, about.id), new

    def found(self, run: str, upload_id: str) -> Upload:
        """An upload of a run.

        Raises:
            NotFound: no such upload, or not any more.
        """
        with availability("read from"):
            there = self._read(upload_id)
        if there is None or there.about.run != run:
            raise NotFound(
                "unknown-upload", f"expected an unfinished upload of run {shown(run)}, found none with id {shown(upload_id)}",
                "it may be sealed or too old: read the run, and begin again if it is not sealed",
            )
        return there

    def append(self, upload: Upload, offset: int, data: bytes) -> int:
        """Write what comes at `offset`, which must be where the upload ends; where it ends then.

        Raises:
            Conflict: it ends elsewhere.
            InFlight: somebody else is changing it.
        """
        with self._held(upload) as file:
            self._require_end(file, offset)
            with availability():
                file.seek(offset)
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
            return offset + len(data)

    def take_back(self, upload: Upload, start: int, end: int) -> None:
        """Forget what was written from `start` to `end`, unless more came after it."""
        with self._held(upload) as file:
            if os.fstat(file.fileno()).st_size == end:
                os.truncate(file.fileno(), start)

    @contextmanager
    def whole(self, upload: Upload) -> Iterator[IO[bytes]]:
        """The content from its beginning, held so that nobody changes it; it must be whole and what was declared.

        Raises:
            Conflict: bytes are missing.
            Malformed: it has another digest than declared; it is forgotten then.
            InFlight: somebody else is changing it.
        """
        about = upload.about
        with self._held(upload) as file:
            size = os.fstat(file.fileno()).st_size
            if size != about.size:
                raise Conflict(
                    "upload-incomplete", f"expected all {about.size} bytes of upload {about.id}, found {size}", f"send the rest from offset {size}"
                )
            running = hashlib.sha256()
            while block := file.read(_BLOCK):
                running.update(block)
            if DIGEST_PREFIX + running.hexdigest() != about.digest:
                self.forget(upload)
                raise Malformed(
                    "content-digest-mismatch", f"expected content with the declared digest {about.digest}, found {DIGEST_PREFIX}{running.hexdigest()}",
                    remedy="begin the upload again; nothing of it was stored",
                )
            file.seek(0)
            yield file

    def forget(self, upload: Upload) -> None:
        """Remove it."""
        shutil.rmtree(self._root / upload.about.id, ignore_errors=True)

    def expires(self, upload: Upload) -> float:
        """When it will be forgotten unless more comes, in seconds since 1970."""
        return upload.changed + self._seconds

    def sweep(self, now: float) -> None:
        """Remove what is too old."""
        for folder in self._folders():
            content = folder / "content"
            try:
                changed = content.stat().st_mtime if content.exists() else folder.stat().st_mtime
            except FileNotFoundError:  # another sweep was quicker
                continue
            if changed + self._seconds < now:
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _held(self, upload: Upload) -> Iterator[IO[bytes]]:
        path = self._root / upload.about.id / "content"
        try:
            file = path.open("r+b", buffering=0)
        except FileNotFoundError:
            self.found(upload.about.run, upload.about.id)
            raise
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InFlight(
                    "upload-in-use", f"expected nobody else at upload {upload.about.id}, found another request", "ask where it ends, and go on from there"
                ) from None
            yield file

    def _require_end(self, file: IO[bytes], offset: int) -> None:
        end = os.fstat(file.fileno()).st_size
        if end != offset:
            raise Conflict("upload-offset", f"expected the bytes from offset {end} on, found those from {offset} on", "ask where it ends, and go on from there")

    def _read(self, upload_id: str) -> Upload | None:
        if _id.fullmatch(upload_id) is None:
            return None
        try:
            value: dict[str, Any] = orjson.loads((self._root / upload_id / "about.json").read_bytes())
            state = (self._root / upload_id / "content").stat()
        except FileNotFoundError:
            return None
        return Upload(UploadAbout(**value), state.st_size, state.st_mtime)

    def _all(self) -> Iterator[Upload]:
        for folder in self._folders():
            found = self._read(folder.name)
            if found is not None:
                yield found

    def _folders(self) -> list[Path]:
        return [each for each in self._root.iterdir() if each.is_dir()] if self._root.is_dir() else []
