"""Which store a URL means: `file:///folder`, or `s3://bucket/prefix?endpoint=...&region=...&path_style=true`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from pairmark.adapters.ledger_store import LedgerStore
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, GIB, Limits
from pairmark.adapters.objects.s3 import S3ObjectStore, S3Place
from pairmark.adapters.objects.shared_secrets import SharedRowSecrets
from pairmark.domain.errors import Malformed, shown

COPIES_LIMIT = 2 * GIB
OPTIONS = ("endpoint", "path_style", "region")


def open_store(
    url: str | None,
    data: Path,
    *,
    endpoint: str | None = None,
    retry_seconds: int = 30,
    limits: Limits = DEFAULT_LIMITS,
    copies_limit: int = COPIES_LIMIT,
) -> LedgerStore:
    """The ledgers at a URL; None: in the folder `data`, which holds the scratch files of any store.

    Args:
        url: of the store.
        data: the service's own folder.
        endpoint: of an S3 server, where the URL names none.
        retry_seconds: how long a request to an S3 server is tried again.
        limits: how much is read of a ledger.
        copies_limit: bytes of local copies of S3 objects that are kept.

    Raises:
        Malformed: not the URL of a store.
    """
    if url is None:
        return LedgerStore(data, limits=limits)
    scheme = urlsplit(url).scheme
    if scheme == "file":
        return LedgerStore(_folder_of(url), limits=limits)
    if scheme == "s3":
        place = s3_place(url, endpoint=endpoint, retry_seconds=retry_seconds)
        store = S3ObjectStore(place, data / "scratch", copies_limit=copies_limit)
        return LedgerStore(data, limits=limits, objects=store, row_secrets=SharedRowSecrets(place))
    raise _bad(f"expected a URL that begins with file:// or s3://, found one with {shown(scheme)}")


def _folder_of(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/") or parts.query or parts.fragment:
        raise _bad("expected file:// and the absolute path of a folder, found something else")
    return Path(unquote(parts.path))


def s3_place(url: str, *, endpoint: str | None = None, retry_seconds: int = 30) -> S3Place:
    """The bucket and prefix that an s3:// URL names; what the URL says of the endpoint wins.

    Raises:
        Malformed: a URL with credentials, without a bucket, or with an option that is none.
    """
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise _bad("expected an s3:// URL without credentials, found some", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead")
    if not parts.netloc or parts.fragment:
        raise _bad("expected s3://BUCKET/PREFIX, found no bucket")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            raise _bad(f"expected only the options {', '.join(OPTIONS)} in the URL, found {shown(name)}")
    server = options.get("endpoint", endpoint)
    if server is not None and urlsplit(server).scheme not in ("http", "https"):
        raise _bad("expected an http:// or https:// URL as the endpoint, found something else")
    style = options.get("path_style", "true" if server is not None else "false")
    if style not in ("true", "false"):
        raise _bad(f"expected path_style=true or false, found {shown(style)}")
    return S3Place(parts.netloc, unquote(parts.path).strip("/"), server, options.get("region"), style == "true", retry_seconds)


def _bad(message: str, remedy: str = "correct PAIRMARK_STORE_URL; see docs/operations.md") -> Malformed:
    return Malformed("bad-store-url", message, remedy=remedy)
