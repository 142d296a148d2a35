"""Objects in S3-compatible storage: put if absent, whole or not at all, checked on the way in and out, in bounded memory.

Beside an object's bytes their SHA-256 is kept as metadata, since the key is the digest of what a ledger says and not of its bytes. What
is sent is signed over its content (Signature Version 4), so that the server refuses bytes that changed on the way.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairmark.adapters.ledgers.limits import MIB
from pairmark.adapters.ledgers.objects import KeptObject, digest_at, holds, key_of, sweep_scratch
from pairmark.adapters.objects.copies import Copies
from pairmark.app.errors import Unavailable
from pairmark.app.stored import Damaged
from pairmark.domain.errors import NotFound, one_line

if TYPE_CHECKING:
    from obstore.store import S3Store

log = logging.getLogger("pairmark.objects")

PART_BYTES = 8 * MIB
"""Larger objects travel in parts of this size, two at a time."""

PARTS_AT_ONCE = 2
SHA256 = "sha256"
RENEW_SECONDS = 1800
"""An object that is put again and older than this is written again, so that no collection takes it for forgotten."""

PROBE = "probe"


@dataclass(frozen=True)
class S3Place:
    """Where objects lie. Credentials come from the environment (`AWS_ACCESS_KEY_ID` and the like), never from an address.

    Attributes:
        bucket: name.
        prefix: what all keys begin with, without slashes at its ends; may be empty.
        endpoint: URL of the server; None for AWS.
        region: None for the environment's (`AWS_REGION`), or us-east-1.
        path_style: the bucket stands in the path, not in the host's name.
        retry_seconds: how long a request that fails is tried again.
    """

    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    path_style: bool = False
    retry_seconds: int = 30


def client_of(place: S3Place, *, retries: int = 8, seconds: int = 30) -> S3Store:
    """A client; nothing is asked of the server yet."""
    from obstore.store import S3Store

    config: dict[str, Any] = {"virtual_hosted_style_request": not place.path_style}
    if place.endpoint is not None:
        config["endpoint"] = place.endpoint
    if place.region is not None:
        config["region"] = place.region
    return S3Store(
        place.bucket,
        prefix=place.prefix or None,
        config=config,  # type: ignore[arg-type]  # made above from its own keys
        client_options={
            "allow_http": place.endpoint is not None and place.endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=min(5, seconds)),
            "timeout": timedelta(seconds=seconds),
        },
        retry_config={
            "max_retries": retries,
            "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
            "retry_timeout": timedelta(seconds=place.retry_seconds),
        },
    )


class S3ObjectStore:
    """Objects below `objects/` of a bucket and prefix; files on their way in, and copies to read, in a local folder."""

    def __init__(self, place: S3Place, scratch: Path, *, copies_limit: int) -> None:
        self._place, self._scratch = place, scratch
        scratch.mkdir(parents=True, exist_ok=True)
        self.client = client_of(place)
        self._impatient = client_of(place, retries=0, seconds=5)
        self._copies = Copies(scratch, copies_limit)

    def scratch(self) -> Path:
        """A local folder for files on their way in."""
        return self._scratch

    def put_if_absent(self, digest: str, content: Path | bytes) -> bool:
        """Store `content` under `digest`, whole or not at all; a Path is consumed. False when it was there already.

        Up to `PART_BYTES` the put itself is conditional. A larger object appears when its last part is there; of two writers at
        once the later one replaces an object with an equal one.
        """
        key = key_of(digest)
        there = self._head(key)
        new = there is None
        if there is None or there["last_modified"].timestamp() < time.time() - RENEW_SECONDS:
            new = self._put(key, content, only_new=new) and new
        if isinstance(content, Path):
            content.unlink()
        return new

    def exists(self, digest: str) -> bool:
        """Whether an object lies under `digest`."""
        return self._head(key_of(digest)) is not None

    def fetched(self, digest: str) -> AbstractContextManager[Path]:
        """A local copy, proven to have the bytes that were put.

        Raises:
            NotFound: nothing is stored under `digest`.
            Damaged: the bytes are not those that were put.
            Unavailable: the store does not answer.
        """
        key = key_of(digest)
        return self._copies.of(digest, lambda path: self._fetch(digest, key, path))

    def verify(self, digest: str) -> bool:
        """True when the ledger stored under `digest` can be read and still has that digest."""
        try:
            with self.fetched(digest) as path:
                return holds(path, digest)
        except Damaged:
            return False

    def kept(self) -> Iterator[KeptObject]:
        """All objects."""
        import obstore

        with answering("list its objects"):
            for batch in obstore.list(self.client, "objects"):
                for each in batch:
                    digest = digest_at(each["path"])
                    if digest is not None:
                        yield KeptObject(digest, each["size"], each["last_modified"].timestamp())

    def remove_if_older(self, digest: str, than: float) -> bool:
        """Remove the object unless it was put at or after `than`, asked right before; whether it was removed."""
        import obstore

        key = key_of(digest)
        there = self._head(key)
        if there is None or there["last_modified"].timestamp() >= than:
            return False
        with answering("remove an object"):
            obstore.delete(self.client, key)
        return True

    def require_writable(self) -> None:
        """Put a small object that is always the same one."""
        import obstore

        with answering("take an object"):
            obstore.put(self._impatient, PROBE, b"writable", use_multipart=False)

    def sweep(self, older_than: float) -> int:
        """Remove local scratch last changed before `older_than`; how many entries there were."""
        return sweep_scratch(self._scratch, older_than)

    def close(self) -> None:
        """Remove the local copies."""
        self._copies.close()

    def _head(self, key: str) -> Any:
        import obstore

        with answering("answer"):
            try:
                return obstore.head(self.client, key)
            except FileNotFoundError:
                return None

    def _put(self, key: str, content: Path | bytes, *, only_new: bool) -> bool:
        """False when another writer was quicker."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        attributes: Any = {SHA256: _sha256(content)}
        small = size <= PART_BYTES
        with answering("take an object"):
            try:
                obstore.put(
                    self.client, key, content, attributes=attributes, mode="create" if small and only_new else "overwrite",
                    use_multipart=not small, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE,
                )  # fmt: skip
            except AlreadyExistsError:
                return False
        return True

    def _fetch(self, digest: str, key: str, path: Path) -> None:
        import obstore

        with answering("give an object"):
            try:
                found = obstore.get(self.client, key, options={"head": True})
                said = str(found.attributes.get(SHA256))
                meta, running = found.meta, hashlib.sha256()
                with path.open("wb") as out:
                    for start in range(0, meta["size"], PART_BYTES):
                        asked: Any = {"range": (start, min(start + PART_BYTES, meta["size"])), "if_match": meta["e_tag"]}
                        part = obstore.get(self.client, key, options=asked).bytes()
                        running.update(part)
                        out.write(part)
            except FileNotFoundError:
                raise NotFound("no-such-object", f"expected a stored object, found none under {digest}", "check the digest") from None
        if running.hexdigest() != said:
            raise Damaged(f"expected the bytes that were put under {digest}, found others; restore the object from a backup")


def _sha256(content: Path | bytes) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def answering(to: str) -> Iterator[None]:
    """Say in Pairmark's words that the store does not do what it is asked to; its own words go to the log.

    Raises:
        Unavailable: whatever the store refused with.
    """
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        yield
    except (NotFound, Damaged):
        raise
    except (BaseError, FileNotFoundError, PermissionError) as problem:
        own = str(problem).partition("\n")[0]
        log.warning("the object store did not %s: %s", to, one_line(own, 500))
        status = re.search(r"status code: (\d{3})", own)
        if isinstance(problem, PermissionDeniedError | UnauthenticatedError | PermissionError):
            found, remedy = "access denied", "check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) and the bucket's policy"
        elif isinstance(problem, FileNotFoundError):
            found, remedy = "no such bucket", "make the bucket, or check PAIRMARK_STORE_URL"
        else:
            found = f"status {status[1]}" if status else "no answer"
            remedy = "try again a little later; the service's log says more"
        raise Unavailable("store-unavailable", f"expected the object store to {to}, found: {found}", remedy, 30) from problem
