"""Run bundles: a directory, or a `.tar.gz` of one, with `run.json` and one ledger."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from pairmark.adapters.ledgers.background import Background
from pairmark.adapters.ledgers.canonical_out import LedgerDigest, canonical_lines
from pairmark.adapters.ledgers.checks import ColumnChecks
from pairmark.adapters.ledgers.documents import (
    LoadedPolicy,
    LoadedSuite,
    read_bytes,
    read_policy,
    read_suite,
    shipped_policies,
    unreadable,
)
from pairmark.adapters.ledgers.ingest import LEDGER_FILES, chunks_of, frame_reader
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, Limits
from pairmark.adapters.ledgers.lines import check_rows
from pairmark.adapters.ledgers.order import OrderWatch
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.run import Run
from pairmark.domain.episodes import EPISODE_SCHEMA, empty_frame, in_canonical_order
from pairmark.domain.errors import Malformed
from pairmark.domain.evidence import Arm, Role

__all__ = [
    "LoadedPolicy",
    "LoadedSuite",
    "pack_bundle",
    "read_bundle",
    "read_bytes",
    "read_policy",
    "read_suite",
    "sealed_arm",
    "shipped_policies",
    "write_bundle",
]


def read_bundle(path: str | Path, role: Role, *, limits: Limits = DEFAULT_LIMITS) -> Arm:
    """The run and its ledger, in canonical order; the count and digest that the run declares must hold.

    Args:
        path: the directory or the archive.
        role: what the run is to be in the experiment.
        limits: how much is read.

    Raises:
        Malformed: with file, line and, where it can be told, pointer.
    """
    source, file = Path(path), str(path)
    with tempfile.TemporaryDirectory(prefix="pairmark-") as scratch:
        folder = source
        try:
            if not source.is_dir():
                from pairmark.adapters.ledgers.archive import unpack_bundle

                folder = Path(scratch) / "bundle"
                folder.mkdir()
                if not source.is_file():
                    raise Malformed(
                        "unreadable", "expected a run bundle (a directory or a .tar.gz), found no such file", file,
                        remedy="check the path",
                    )
                with source.open("rb") as packed:
                    start = packed.read(2)
                if start != b"\x1f\x8b"[: len(start)]:
                    raise Malformed(
                        "bad-compression", "expected a run bundle (a directory or a .tar.gz of one), found a file that is not gzip data", file,
                        remedy="name the folder with run.json, or pack it as a .tar.gz",
                    )
                unpack_bundle(source, folder, file=file, limits=limits)
            return _arm(folder, file, role, limits, Path(scratch))
        except OSError as problem:
            raise unreadable(problem, file) from None


def _arm(folder: Path, file: str, role: Role, limits: Limits, scratch: Path) -> Arm:
    if not (folder / "run.json").is_file():
        raise Malformed("no-run", "expected run.json in the bundle, found none", file, remedy="give a run bundle")
    ledgers = [name for name in LEDGER_FILES if (folder / name).is_file()]
    if len(ledgers) != 1:
        raise Malformed(
            "ledger-files", f"expected exactly one of {', '.join(LEDGER_FILES)}, found {', '.join(ledgers) or 'none'}", file,
            remedy="keep one ledger in the bundle",
        )
    run_file, ledger_file = f"{file}/run.json", f"{file}/{ledgers[0]}"
    run, value = read_document(Run, read_bytes(folder / "run.json", "document", limits.document, file=run_file), file=run_file)
    if run.episodes is None:
        raise Malformed(
            "not-sealed", "expected a finished run, found `episodes` null", run_file, None, "/episodes",
            "write its count and digest once the run has ended",
        )
    frame, digest = _ledger(folder / ledgers[0], ledger_file, limits, scratch)
    if frame.height != run.episodes.count:
        raise Malformed(
            "count-mismatch", f"expected {run.episodes.count} episodes as declared, found {frame.height} in {ledgers[0]}",
            run_file, None, "/episodes/count", "give the ledger the run was sealed with",
        )
    if digest != run.episodes.digest:
        raise Malformed(
            "digest-mismatch", f"expected a ledger of digest {run.episodes.digest} as declared, found {digest}",
            run_file, None, "/episodes/digest", "give the ledger the run was sealed with",
        )
    return Arm(role, run, digest_of(value), frame, digest)


def _ledger(path: Path, file: str, limits: Limits, scratch: Path) -> tuple[pl.DataFrame, str]:
    """The ledger in canonical order, and its digest. Hashing runs beside parsing."""
    frames: list[pl.DataFrame] = []
    watch, digest, ordered = OrderWatch(), LedgerDigest(), True
    with Background() as background:
        for frame in _frames(path, file, limits, scratch):
            frames.append(frame)
            ordered = ordered and watch.first_out_of_order(frame) is None
            if ordered:
                background.do(digest.update, frame)
        background.wait()
    whole = pl.concat(frames) if frames else empty_frame()
    if not ordered:
        whole, digest = in_canonical_order(whole), LedgerDigest()
        digest.update(whole)
    return whole, digest.digest()


def _frames(path: Path, file: str, limits: Limits, scratch: Path) -> Iterator[pl.DataFrame]:
    reader = frame_reader(LEDGER_FILES[path.name], file=file, limits=limits, scratch=scratch)
    for chunk in chunks_of(path):
        yield from reader.feed(chunk)
    yield from reader.finish()


def write_bundle(run: dict[str, Any], frame: pl.DataFrame, directory: str | Path) -> None:
    """Write `run.json` and `episodes.jsonl`; the directory appears whole or not at all.

    Args:
        run: the run document as a JSON object; its `episodes` is replaced by the ledger's count and digest.
        frame: the episodes, with the columns of `EPISODE_SCHEMA`, in any order.
        directory: new, or empty.

    Raises:
        Malformed: the run or a row is not well-formed, or the directory is not empty.
    """
    target = Path(directory)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Malformed(
            "exists", "expected a new or empty directory, found one with content", str(directory), remedy="choose another"
        )
    value, ordered, _ = _sealed(run, frame, str(target))
    read_document(Run, canonical_bytes(value), file=str(target / "run.json"))
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        (scratch / "run.json").write_bytes(_run_bytes(value))
        with (scratch / "episodes.jsonl").open("wb") as out:
            for start in range(0, ordered.height, 65_536):
                out.write(canonical_lines(ordered[start : start + 65_536]))
        scratch.chmod(0o755)
        scratch.replace(target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def sealed_arm(run: dict[str, Any], frame: pl.DataFrame, role: Role, *, file: str) -> Arm:
    """What `read_bundle` gives for the bundle that `write_bundle` would write, without writing it.

    Args:
        run: as for `write_bundle`.
        frame: as for `write_bundle`.
        role: what the run is to be in the experiment.
        file: how errors name the bundle.

    Raises:
        Malformed: the run or a row is not well-formed.
    """
    value, ordered, digest = _sealed(run, frame, file)
    document, written = read_document(Run, _run_bytes(value), file=f"{file}/run.json")
    return Arm(role, document, digest_of(written), ordered, digest)


def _sealed(run: dict[str, Any], frame: pl.DataFrame, file: str) -> tuple[dict[str, Any], pl.DataFrame, str]:
    """The run with count and digest of its ledger, the ledger in canonical order, and its digest."""
    ledger_file = f"{file}/episodes.jsonl"
    typed = frame.select(*EPISODE_SCHEMA).cast(dict(EPISODE_SCHEMA))  # type: ignore[arg-type]  # invariant in its key
    ordered = in_canonical_order(typed.with_columns(pl.col("attempt").fill_null(1)))
    checks = ColumnChecks(file=ledger_file, limits=DEFAULT_LIMITS)
    if not checks.acceptable(ordered):
        check_rows(ordered, file=ledger_file, first_line=1, limits=DEFAULT_LIMITS)
    checks.refuse_collisions(ordered, 1)
    digest = LedgerDigest()
    digest.update(ordered)
    return {**run, "episodes": {"count": ordered.height, "digest": digest.digest()}}, ordered, digest.digest()


def _run_bytes(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def pack_bundle(directory: str | Path, archive: str | Path) -> None:
    """Write the files of a bundle directory as a `.tar.gz`; equal files give equal bytes."""
    from pairmark.adapters.ledgers import archive as packing

    packing.pack_bundle(Path(directory), Path(archive))
