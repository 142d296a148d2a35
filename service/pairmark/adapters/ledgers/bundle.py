"""Suites, policies and run bundles, read from and written to disk."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, Limits, too_large
from pairmark.adapters.ledgers.lines import IdCollisions, read_line
from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import EPISODE_SCHEMA, canonical_line, frame_of, in_canonical_order, ledger_digest
from pairmark.domain.errors import Malformed, shown
from pairmark.domain.evidence import Arm, Role

LEDGER_NAMES = ("episodes.jsonl", "episodes.jsonl.gz", "episodes.jsonl.zst", "episodes.parquet")


@dataclass(frozen=True)
class LoadedSuite:
    """A suite manifest with its bytes' value as written and its digest."""

    manifest: SuiteManifest
    value: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy whose rules are all installed, with its value as written and its digest."""

    policy: Policy
    value: dict[str, Any]
    digest: str


def read_bytes(path: Path, limit_name: str, limit: int) -> bytes:
    """The bytes of a file, refused beyond `limit`."""
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except FileNotFoundError:
        raise Malformed("no-such-file", "expected a file, found none", str(path), remedy="check the path") from None
    except OSError as problem:
        raise Malformed(
            "unreadable", f"expected a readable file, found: {problem.strerror}", str(path), remedy="check the path"
        ) from None
    if len(data) > limit:
        raise too_large(limit_name, limit, file=str(path))
    return data


def read_suite(path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> LoadedSuite:
    """The suite manifest in a JSON file."""
    data = read_bytes(Path(path), "document", limits.document)
    manifest, value = read_document(SuiteManifest, data, file=str(path))
    return LoadedSuite(manifest, value, suite_digest(value))


def _policies_folder() -> Path:
    try:
        from pairmark.resources import data_folder
    except ImportError:
        return Path(__file__).resolve().parents[4] / "manifests" / "policies"
    return data_folder("manifests") / "policies"


def shipped_policies() -> tuple[str, ...]:
    """Names `name/version` of the policies that come with Pairmark."""
    folder = _policies_folder()
    return tuple(sorted("/".join(path.stem.rsplit("-", 1)) for path in folder.glob("*-*.json")))


def read_policy(name_or_path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> LoadedPolicy:
    """A shipped policy by `name/version`, or one in a JSON file; its rules and their parameters are checked."""
    from pairmark.rules.registry import check_policy

    named = str(name_or_path)
    known = shipped_policies()
    path = _policies_folder() / f"{named.replace('/', '-')}.json" if named in known else Path(name_or_path)
    if named not in known and not path.is_file():
        raise Malformed(
            "unknown-policy", f"expected a policy file or one of {', '.join(known) or '(none shipped)'}, found {shown(named)}",
            remedy="give NAME/VERSION or the path of a policy file",
        )
    data = read_bytes(path, "document", limits.document)
    policy, value = read_document(Policy, data, file=named)
    try:
        check_policy(policy)
    except Malformed as problem:
        raise problem.located(file=named) from None
    return LoadedPolicy(policy, value, digest_of(value))


def read_bundle(path: str | Path, role: Role, *, limits: Limits = DEFAULT_LIMITS) -> Arm:
    """The run and its ledger in a directory or a `.tar.gz` of one; the declared count and digest must hold.

    Raises:
        Malformed: with file, line and pointer.
    """
    source = Path(path)
    if source.is_dir():
        return _read_directory(source, str(path), role, limits)
    if not source.is_file():
        raise Malformed("no-such-file", "expected a run bundle, found none", str(path), remedy="check the path")
    with tempfile.TemporaryDirectory(prefix="pairmark-") as scratch:
        _unpack(source, Path(scratch), limits)
        return _read_directory(Path(scratch), str(path), role, limits)


def _unpack(source: Path, target: Path, limits: Limits) -> None:
    total = 0
    try:
        with tarfile.open(source, "r:gz") as archive:
            for member in archive:
                name = member.name.removeprefix("./").rpartition("/")[2]
                if member.isdir():
                    continue
                stream = archive.extractfile(member) if member.isreg() else None
                if stream is None or name not in ("run.json", *LEDGER_NAMES) or (target / name).exists():
                    raise Malformed(
                        "bad-archive", f"expected run.json and one ledger, found {shown(member.name)}", str(source),
                        remedy="pack only the bundle's two files",
                    )
                total += member.size
                if total > limits.archive:
                    raise too_large("archive", limits.archive, file=str(source))
                with (target / name).open("wb") as out:
                    shutil.copyfileobj(stream, out)
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as problem:
        raise Malformed(
            "bad-archive", f"expected a .tar.gz archive, found: {problem}", str(source), remedy="pack it again"
        ) from None


def _read_directory(folder: Path, shown_as: str, role: Role, limits: Limits) -> Arm:
    found = [name for name in LEDGER_NAMES if (folder / name).is_file()]
    if not (folder / "run.json").is_file():
        raise Malformed("no-run", "expected run.json in the bundle, found none", shown_as, remedy="give a run bundle")
    if len(found) != 1:
        raise Malformed(
            "ledger-files", f"expected one of {', '.join(LEDGER_NAMES)}, found {', '.join(found) or 'none'}", shown_as,
            remedy="keep exactly one ledger in the bundle",
        )
    run_name = f"{shown_as}/run.json"
    run, value = read_document(Run, read_bytes(folder / "run.json", "document", limits.document), file=run_name)
    if run.episodes is None:
        raise Malformed(
            "not-sealed", "expected a finished run, found `episodes` null", run_name, None, "/episodes", "seal the run first"
        )
    ledger_name = f"{shown_as}/{found[0]}"
    frame = _read_ledger(folder / found[0], ledger_name, limits)
    digest = ledger_digest(frame)
    if frame.height != run.episodes.count:
        raise Malformed(
            "count-mismatch", f"expected {run.episodes.count} episodes as declared, found {frame.height} in {found[0]}",
            run_name, None, "/episodes/count", "give the ledger the run was sealed with",
        )
    if digest != run.episodes.digest:
        raise Malformed(
            "digest-mismatch", f"expected a ledger with digest {run.episodes.digest} as declared, found {digest}",
            run_name, None, "/episodes/digest", "give the ledger the run was sealed with",
        )
    return Arm(role, run, digest_of(value), frame, digest)


def _read_ledger(path: Path, name: str, limits: Limits) -> pl.DataFrame:
    data = read_bytes(path, "ledger", limits.ledger)
    try:
        if name.endswith(".gz"):
            data = gzip.decompress(data)
        elif name.endswith(".zst"):
            import zstandard

            data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
        elif name.endswith(".parquet"):
            rows = pl.read_parquet(data).to_dicts()
            data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    except Exception as problem:  # replaced by the streaming reader
        raise Malformed("bad-compression", f"expected a whole file, found: {problem}", name, remedy="write it again") from None
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    rows = [read_line(line, file=name, line=number, limits=limits) for number, line in enumerate(lines, 1)]
    tasks, injections = IdCollisions("task_id"), IdCollisions("injection_id")
    for number, row in enumerate(rows, 1):
        tasks.add(row["task_id"], file=name, line=number)
        if row["injection_id"] is not None:
            injections.add(row["injection_id"], file=name, line=number)
    return frame_of(rows)


def write_bundle(run: dict[str, Any], frame: pl.DataFrame, directory: str | Path) -> None:
    """Write `run.json` and `episodes.jsonl`; `episodes` in the run is filled with the ledger's count and digest.

    The directory appears whole or not at all.

    Raises:
        Malformed: the run is not a run document, or the directory exists and is not empty.
    """
    target = Path(directory)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Malformed("exists", "expected a new or empty directory", str(directory), remedy="choose another directory")
    ordered = in_canonical_order(frame.select(EPISODE_SCHEMA.keys()))
    value = {**run, "episodes": {"count": ordered.height, "digest": ledger_digest(ordered)}}
    read_document(Run, canonical_bytes(value), file=str(target / "run.json"))
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        (scratch / "run.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        with (scratch / "episodes.jsonl").open("wb") as out:
            for row in ordered.iter_rows(named=True):
                out.write(canonical_line(row))
        scratch.chmod(0o755)
        os.replace(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
