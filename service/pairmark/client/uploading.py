"""Ledgers to a service: a small one in one request, a large one in pieces that go on from where they broke off."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator

from pairmark.client import steps
from pairmark.client.errors import NoAnswer, ProblemError
from pairmark.client.ledger import ENCODING, TYPE, OutgoingLedger, Packed
from pairmark.client.steps import LONGEST_PAUSE_SECONDS, TRIES, Call, Pause, Reply, Steps, T, ask, get, post
from pairmark.domain.canonical import canonical_bytes
from pairmark.http.content_digest import HEADER, content_digest
from pairmark.http.models import RunAnswer
from pairmark.http.upload_models import OFFSET, PIECE_TYPE, UploadAnswer

Progress = Callable[[int, int], None]
"""Told how many bytes are sent, of how many."""

PIECE_BYTES = 16 * 1024 * 1024
"""A ledger of at most so many bytes goes in one request, a larger one in pieces of so many."""

BLOCK_BYTES = 64 * 1024
SEAL_SECONDS = 3600.0
UPLOAD_SECONDS = 300.0

_goes_on = ("upload-offset", "upload-in-use", "content-digest-mismatch")
_begins_again = ("unknown-upload",)


def upload(at: str, ledger: OutgoingLedger, progress: Progress | None, piece_bytes: int) -> Steps[Reply[RunAnswer]]:
    """Seal the run at this path with its ledger."""
    packed = ledger.packed
    if packed.size > piece_bytes:
        return (yield from _in_pieces(at, ledger, progress or _nobody, piece_bytes))
    headers = {
        "Content-Type": TYPE, "Content-Encoding": ENCODING, "Content-Length": str(packed.size), HEADER: content_digest(packed.sha256)
    }
    content = lambda: _blocks(packed, 0, packed.size, progress or _nobody)  # noqa: E731
    return (yield from ask(Call("PUT", f"{at}/episodes", content, headers, patience=UPLOAD_SECONDS), RunAnswer))


def _in_pieces(at: str, ledger: OutgoingLedger, progress: Progress, piece_bytes: int) -> Steps[Reply[RunAnswer]]:
    packed = ledger.packed
    until: float | None = None  # dates from the first failure: a piece may have hung for longer than the patience before that
    place, failures = (yield from _begin(at, packed)), 0
    while place.offset < packed.size:
        try:
            moved = (yield from ask(_piece(at, packed, place, progress, piece_bytes), UploadAnswer)).model
        except (NoAnswer, ProblemError) as problem:
            begun = place.offset
            if not _may_go_on(problem):
                raise
            failures, until = failures + 1, _patience_ends() if until is None else until
            if failures >= TRIES:
                raise
            wait = getattr(problem, "retry_after", None)
            yield Pause(min(steps.FIRST_PAUSE_SECONDS * 2**failures, LONGEST_PAUSE_SECONDS) if wait is None else wait)
            place = yield from _waited_for(lambda: _begin(at, packed), until)  # the same upload, with the place where it ends
            if place.offset > begun:
                failures, until = 0, None
        else:
            place, failures, until = moved, 0, None
    sealing = post(f"{at}/uploads/{place.id}/seal", b"{}", patience=SEAL_SECONDS)
    try:
        return (yield from _waited_for(lambda: ask(sealing, RunAnswer)))
    except ProblemError as problem:
        if problem.code not in _begins_again:
            raise
        run = yield from ask(get(at), RunAnswer)  # perhaps another process sealed it with the same upload
        if run.model.episodes is None or run.model.episodes.digest != ledger.digest:
            raise
        return run


def _patience_ends() -> float:
    return time.monotonic() + steps.PATIENCE_SECONDS


def _waited_for(steps_of: Callable[[], Steps[T]], until: float | None = None) -> Steps[T]:
    """The same steps again, while nobody answers: a service that is started again is away for longer than a connection that breaks.
    Until then; where that is None, as long as the patience lasts from the first failure on.
    """
    pause = steps.FIRST_PAUSE_SECONDS
    while True:
        try:
            return (yield from steps_of())
        except NoAnswer as problem:
            until = _patience_ends() if until is None else until
            if problem.code != "no-service" or time.monotonic() > until:
                raise
        yield Pause(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _begin(at: str, packed: Packed) -> Steps[UploadAnswer]:
    asked = {"type": TYPE, "encoding": ENCODING, "size": packed.size, "digest": f"sha256:{packed.sha256.hex()}"}
    return (yield from ask(post(f"{at}/uploads", canonical_bytes(asked), patience=UPLOAD_SECONDS), UploadAnswer)).model


def _piece(at: str, packed: Packed, place: UploadAnswer, progress: Progress, piece_bytes: int) -> Call:
    start, size = place.offset, min(piece_bytes, packed.size - place.offset)
    running = hashlib.sha256()
    for block in _blocks(packed, start, size, _nobody):
        running.update(block)
    headers = {
        "Content-Type": PIECE_TYPE, "Content-Length": str(size), OFFSET: str(start), HEADER: content_digest(running.digest())
    }
    return Call("PATCH", f"{at}/uploads/{place.id}", lambda: _blocks(packed, start, size, progress), headers, patience=UPLOAD_SECONDS)


def _may_go_on(problem: NoAnswer | ProblemError) -> bool:
    """Whether what came of a piece is kept, so that the rest can follow."""
    if isinstance(problem, NoAnswer):
        return problem.code == "no-service"
    return problem.code in (*_goes_on, *_begins_again) or problem.status in (408, 503)


def _blocks(packed: Packed, start: int, size: int, progress: Progress) -> Iterator[bytes]:
    with packed.path.open("rb") as file:
        file.seek(start)
        sent = 0
        while sent < size:
            block = file.read(min(BLOCK_BYTES, size - sent))
            if not block:
                return
            yield block
            sent += len(block)
            progress(start + sent, packed.size)


def _nobody(_sent: int, _total: int) -> None:
    return None
