"""Whether files are of one run: same package, same benchmark version, same system prompt, same switches of the defense."""

from __future__ import annotations

from collections.abc import Callable

from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.agentdojo.record import Record

_UNRECORDED = "(unrecorded)"
_FACTS: dict[str, Callable[[Record], str | None]] = {
    "benchmark version": lambda record: record.benchmark_version,
    "package version": lambda record: record.package_version,
    "system prompt": lambda record: record.system_prompt,
    "defense setting": lambda record: record.settings,
}
_SHOWN_CHARACTERS = 120


class OneRun:
    """Collects the facts on which all files of a run must agree. A record without messages says nothing of the prompt."""

    def __init__(self, suite: SuiteManifest) -> None:
        self._suite = suite
        self._seen: dict[str, dict[str | None, tuple[int, str]]] = {name: {} for name in _FACTS}

    def add(self, record: Record, path: str) -> None:
        for name, fact in _FACTS.items():
            if name == "system prompt" and not record.messages:
                continue
            seen = self._seen[name]
            value = fact(record)
            count, first = seen.get(value, (0, path))
            seen[value] = (count + 1, first)

    def check(self) -> None:
        """Refuse files that are not of one run, or not of the benchmark version whose content the manifest holds.

        Raises:
            Malformed: naming the values, how many files have each, and a file of each.
        """
        for name, seen in self._seen.items():
            if len(seen) > 1:
                listed = "; ".join(
                    f"{_value(name, value)} in {count} files, first {first}"
                    for value, (count, first) in sorted(seen.items(), key=_by_first)
                )
                raise Malformed(
                    f"mixed-{name.replace(' ', '-')}s",
                    f"expected one {name} in one run, found {listed}",
                    remedy="run the folder again under one version, or import what belongs together from a folder of its own",
                )
        version = self._only("benchmark version")
        if self._exported and version is not None and version != self._suite.version:
            raise Malformed(
                "benchmark-version",
                f"expected records of {shown(self._suite.version)}, the manifest's version, found {shown(version)}",
                remedy=f"export the suite at {version}",
            )

    def notes(self) -> tuple[str, ...]:
        """What the files leave open, and a label of an observed manifest that is not theirs."""
        version, package = self._only("benchmark version"), self._only("package version")
        notes = []
        if version is None:
            notes.append("the files do not record a benchmark version")
        elif (
            not self._exported and version != self._suite.version and not self._suite.version.startswith(f"{version}-")
        ):
            notes.append(
                f"the files are of benchmark version {version}, the manifest is labelled {self._suite.version}"
            )
        if package is None:
            notes.append("the files do not record a package version: harness.version is unrecorded unless it is given")
        if self.system_prompt_digest is None:
            notes.append("the files show no system prompt: system_prompt_digest is unrecorded unless it is given")
        return tuple(notes)

    @property
    def package_version(self) -> str | None:
        return self._only("package version")

    @property
    def system_prompt_digest(self) -> str | None:
        """Digest of the system prompt's UTF-8 bytes; null where the files show none (which does not say there was none)."""
        prompt = self._only("system prompt")
        return None if prompt is None else _digest(prompt)

    @property
    def _exported(self) -> bool:
        """Whether the manifest was exported from the package, so that its version is the benchmark's."""
        source = self._suite.source
        return source is not None and source.package is not None and source.package.startswith("agentdojo==")

    def _only(self, name: str) -> str | None:
        return next(iter(self._seen[name]), None)


def _by_first(item: tuple[str | None, tuple[int, str]]) -> str:
    return str(item[1][1])


def _value(name: str, value: str | None) -> str:
    """A value as a message names it; a system prompt by its start and its digest, since two may start alike."""
    if value is None:
        return _UNRECORDED
    text = shown(value, _SHOWN_CHARACTERS)
    return f"{text} ({_digest(value)})" if name == "system prompt" else text


def _digest(prompt: str) -> str:
    return digest_of_bytes(prompt.encode("utf-8", "surrogatepass"))
