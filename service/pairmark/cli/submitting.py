"""Handing a bundle over to a service: what `submit` and the demo do."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairmark.cli.progress import upload_progress

if TYPE_CHECKING:
    from pairmark.client import Client
    from pairmark.http.models import RunAnswer


def announce(client: Client, bundle: Path) -> tuple[RunAnswer, bool]:
    """Announce the run in `bundle` before its results exist; the answer, and whether it is new.

    The same announcement again is the same run: its digest is the request's key.

    Raises:
        Malformed: not a run document, or one with results.
    """
    from pairmark.domain.canonical import canonical_bytes, digest_of
    from pairmark.domain.errors import Malformed

    with _folder_of(bundle) as folder:
        value = _read_run(folder / "run.json", bundle)
    if value["episodes"] is not None:
        raise Malformed(
            "has-results", "expected a run without results, found `episodes`", f"{bundle}/run.json", None, "/episodes",
            "submit it without --announce",
        )  # fmt: skip
    reply = client.announce_run(canonical_bytes(value), key=f"announce-{digest_of(value)}")
    return reply.model, reply.new


def submit(client: Client, bundle: Path, run_id: str | None = None) -> tuple[RunAnswer, bool]:
    """Seal the run in `bundle`: as the announced run `run_id`, or as a run of its own; the answer, and whether this call sealed it.

    Raises:
        Malformed: the bundle is not one, or what it declares does not hold.
    """
    from pairmark.adapters.ledgers.ingest import LEDGER_FILES
    from pairmark.client.ledger import outgoing_ledger
    from pairmark.domain.canonical import canonical_bytes
    from pairmark.domain.errors import Malformed

    with _folder_of(bundle) as folder:
        value = _read_run(folder / "run.json", bundle)
        ledgers = [name for name in LEDGER_FILES if (folder / name).is_file()]
        if len(ledgers) != 1 or value["episodes"] is None:
            found = ", ".join(ledgers) or "no ledger"
            raise Malformed(
                "not-sealed", f"expected a finished run with one ledger, found {found}", str(bundle),
                remedy="give a run bundle, or announce the run with --announce",
            )  # fmt: skip
        with outgoing_ledger(folder / ledgers[0]) as ledger:
            declared = value["episodes"]
            if (ledger.count, ledger.digest) != (declared["count"], declared["digest"]):
                raise Malformed(
                    "digest-mismatch", f"expected the declared {declared['count']} episodes of digest {declared['digest']},"
                    f" found {ledger.count} of digest {ledger.digest}", f"{bundle}/run.json", None, "/episodes",
                    "give the ledger the run was sealed with",
                )  # fmt: skip
            content = canonical_bytes(value)
            answer = (client.announce_run(content) if run_id is None else client.amend_run(run_id, content)).model
            if answer.state == "sealed":
                return answer, False
            with upload_progress() as progress:
                return client.upload_episodes(answer.id, ledger, progress=progress).model, True


@contextmanager
def _folder_of(bundle: Path) -> Iterator[Path]:
    """The bundle's files as a folder: itself, the folder of a lone run.json, or what an archive holds."""
    from pairmark.adapters.ledgers.archive import unpack_bundle
    from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS
    from pairmark.domain.errors import Malformed

    if bundle.is_dir():
        yield bundle
        return
    if not bundle.is_file():
        raise Malformed("unreadable", "expected a run bundle, found no such file", str(bundle), remedy="check the path")
    with tempfile.TemporaryDirectory(prefix="pairmark-") as scratch:
        unpack_bundle(bundle, Path(scratch), file=str(bundle), limits=DEFAULT_LIMITS)
        yield Path(scratch)


def _read_run(path: Path, bundle: Path) -> dict[str, Any]:
    from pairmark.adapters.ledgers.documents import read_bytes
    from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS
    from pairmark.domain.documents.base import read_document
    from pairmark.domain.documents.run import Run

    file = f"{bundle}/run.json"
    return read_document(Run, read_bytes(path, "document", DEFAULT_LIMITS.document, file=file), file=file)[1]
