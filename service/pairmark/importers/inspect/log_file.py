"""One log: its header, and its samples a few at a time, as Inspect's own API reads them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.importers.inspect.archive import Archive, measure
from pairmark.importers.inspect.json_log import Layout, lay_out, part_of
from pairmark.importers.inspect.limits import LIMITS, LogLimits
from pairmark.importers.inspect.package import log_api
from pairmark.importers.inspect.repeated import check_keys

Key = tuple[str | int, int]
"""Sample id and epoch."""


@dataclass(frozen=True)
class ReadSample:
    """A sample, or why it could not be read. `key`: null where an unreadable one does not show it."""

    place: str
    key: Key | None
    sample: Any | None = None
    problem: str | None = None


class Log(Protocol):
    """A log file. `header`: Inspect's `EvalLog` without samples."""

    @property
    def path(self) -> Path: ...

    @property
    def header(self) -> Any: ...

    def samples(self) -> Iterator[ReadSample]:
        """Every sample of the log once, in its order; few are held at a time."""
        ...


def open_log(path: Path, limits: LogLimits = LIMITS) -> Log:
    """The log at `path`, its size measured, its samples not read yet.

    Raises:
        Malformed: inspect_ai is missing, or the file is no whole log, or larger than a limit.
    """
    api = log_api()
    if not path.is_file():
        raise Malformed("not-a-file", "expected an Inspect log, found no file", str(path), remedy="name a .eval or .json log")
    if path.suffix == ".json":
        return JsonLog(path, api, lay_out(path, limits), limits)
    return EvalArchive(path, api, measure(path, limits), limits)


def _reason(problem: Exception) -> str:
    """What a failed read says, in one line: the type, and where there is one the first line of its text."""
    if isinstance(problem, Malformed):
        return str(problem)
    text = str(problem).strip().splitlines()
    return one_line(f"{type(problem).__name__}: {text[0]}" if text else type(problem).__name__, 300)


def _header_from(read: Callable[[], Any], path: Path) -> Any:
    try:
        return read()
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as problem:  # noqa: BLE001 - whatever Inspect's reader and validators raise on a damaged file
        raise Malformed(
            "not-a-log",
            f"expected a log that inspect_ai reads, found: {_reason(problem)}",
            str(path),
            remedy="check the file with `inspect log dump --header-only`",
        ) from None


@dataclass(frozen=True)
class EvalArchive:
    """An `.eval` log."""

    path: Path
    api: Any
    archive: Archive
    limits: LogLimits = field(default=LIMITS)

    @cached_property
    def header(self) -> Any:
        return _header_from(lambda: self.api.read_eval_log(str(self.path), header_only=True, format="eval"), self.path)

    def samples(self) -> Iterator[ReadSample]:
        listed = _header_from(lambda: self.api.read_eval_log_sample_summaries(str(self.path), format="eval"), self.path)
        keys: list[Key] = [(summary.id, summary.epoch) for summary in listed]
        del listed
        names = [f"samples/{sample}_epoch_{epoch}.json" for sample, epoch in keys]
        batch: list[Key] = []
        size = 0
        for key, name in zip(keys, names, strict=True):
            if name in self.archive.unreadable:
                yield ReadSample(f"{self.path}#{name}", key, problem=self.archive.unreadable[name])
                continue
            if batch and (size + self.archive.sizes.get(name, 0) > self.limits.batch or len(batch) >= self.limits.batch_samples):
                yield from self._read(batch)
                batch, size = [], 0
            batch.append(key)
            size += self.archive.sizes.get(name, 0)
        yield from self._read(batch)
        known = set(names)
        for name in self.archive.samples:
            if name not in known:
                yield ReadSample(f"{self.path}#{name}", None, problem="the log's list of samples does not name it")

    def _read(self, keys: list[Key]) -> Iterator[ReadSample]:
        if not keys:
            return
        try:
            found = self._together(keys)
        except Exception as problem:  # noqa: BLE001 - as above; which one it was is found one by one
            if len(keys) == 1:
                yield ReadSample(f"{self.path}#{keys[0][0]}, epoch {keys[0][1]}", keys[0], problem=_reason(problem))
                return
            for key in keys:
                yield from self._read([key])
            return
        for index, key in enumerate(keys):
            sample, found[index] = found[index], None
            place = f"{self.path}#{key[0]}, epoch {key[1]}"
            if (sample.id, sample.epoch) != key:
                said = f"{shown(sample.id)}, epoch {sample.epoch}"
                yield ReadSample(place, key, problem=f"expected the sample that the member's name states, found {said}")
                continue
            yield ReadSample(place, key, sample)

    def _together(self, keys: list[Key]) -> list[Any]:
        by_id = getattr(self.api, "read_eval_log_samples_by_id", None)  # newer than the first release that is supported
        if by_id is not None:
            together: list[Any] = by_id(str(self.path), keys, concurrency=1, resolve_attachments=True, format="eval")
            return together
        return [
            self.api.read_eval_log_sample(str(self.path), sample, epoch, resolve_attachments=True, format="eval")
            for sample, epoch in keys
        ]


_FRAME = (
    b'{"version":2,"status":"started","eval":{"created":"2026-01-01T00:00:00+00:00","task":"part","dataset":{},"model":"part",'
    b'"config":{}},"samples":[%s]}'
)
"""A log around a few samples: what Inspect's reader takes from memory, so that it never holds the whole file."""


@dataclass(frozen=True)
class JsonLog:
    """A `.json` log."""

    path: Path
    api: Any
    layout: Layout
    limits: LogLimits = field(default=LIMITS)

    @cached_property
    def header(self) -> Any:
        data = self.layout.header
        problem = check_keys(data)
        if problem is not None:
            raise Malformed(
                problem.code, f"{problem.message}, beside the samples", str(self.path), remedy="take the log as Inspect wrote it"
            )
        return _header_from(lambda: self.api.read_eval_log(io.BytesIO(data), header_only=True, format="json"), self.path)

    def samples(self) -> Iterator[ReadSample]:
        batch: list[tuple[int, bytes]] = []
        size = 0
        with self.path.open("rb") as stream:
            for index, place in enumerate(self.layout.samples):
                if place[1] > self.limits.sample:
                    yield ReadSample(self._place(index), None, problem=f"expected at most {self.limits.sample} bytes, found more")
                    continue
                if batch and (size + place[1] > self.limits.batch or len(batch) >= self.limits.batch_samples):
                    yield from self._read(batch)
                    batch, size = [], 0
                batch.append((index, part_of(stream, place)))
                size += place[1]
        yield from self._read(batch)

    def _place(self, index: int) -> str:
        return f"{self.path}#/samples/{index}"

    def _read(self, parts: list[tuple[int, bytes]]) -> Iterator[ReadSample]:
        if not parts:
            return
        try:
            for problem in (check_keys(written) for _, written in parts):
                if problem is not None:
                    raise problem
            data = io.BytesIO(_FRAME % b",".join(part for _, part in parts))
            found = list(self.api.read_eval_log(data, format="json").samples or ())
            found = [self.api.resolve_sample_attachments(one) if one.attachments else one for one in found]
            if len(found) != len(parts):
                raise ValueError(f"expected {len(parts)} samples, found {len(found)}")
        except Exception as problem:  # noqa: BLE001 - as above
            if len(parts) == 1:
                yield ReadSample(self._place(parts[0][0]), None, problem=_reason(problem))
                return
            for one in parts:
                yield from self._read([one])
            return
        for position, (index, _) in enumerate(parts):
            sample, found[position] = found[position], None
            yield ReadSample(self._place(index), (sample.id, sample.epoch), sample)
