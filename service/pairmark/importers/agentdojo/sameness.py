"""Whether files are of one run: same package, benchmark version, system prompt and pipeline, same switches of the defense."""

from __future__ import annotations

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.agentdojo.facts import SHOWN_CHARACTERS, Facts, Prompt

_UNRECORDED = "(unrecorded)"

_Value = str | Prompt | None


class OneRun:
    """Collects the facts on which all files of a run must agree. A record without messages says nothing of the prompt."""

    def __init__(self, suite: SuiteManifest) -> None:
        self._suite = suite
        self._seen: dict[str, dict[_Value, tuple[int, str]]] = {
            "benchmark version": {}, "package version": {}, "system prompt": {}, "defense setting": {},
            "pipeline name": {},
        }  # fmt: skip

    def add(self, facts: Facts, count: int, first: str) -> None:
        """So many files state the facts; `first` is the first of them. To be called in the order of the files."""
        self._add("benchmark version", facts.benchmark_version, count, first)
        self._add("package version", facts.package_version, count, first)
        if not facts.is_silent:
            self._add("system prompt", facts.system_prompt, count, first)
        self._add("defense setting", facts.settings, count, first)
        if facts.pipeline is not None:
            self._add("pipeline name", facts.pipeline, count, first)

    def _add(self, name: str, value: _Value, count: int, first: str) -> None:
        before, earlier = self._seen[name].get(value, (0, first))
        self._seen[name][value] = (before + count, earlier)

    def check(self) -> None:
        """Refuse files that are not of one run, or not of the benchmark version whose content the manifest holds.

        Raises:
            Malformed: naming the values, how many files have each, and a file of each.
        """
        for name, seen in self._seen.items():
            if len(seen) > 1:
                listed = "; ".join(
                    f"{_value(value)} in {count} files, first {first}"
                    for value, (count, first) in sorted(seen.items(), key=_by_first)
                )
                raise Malformed(
                    f"mixed-{name.replace(' ', '-')}s",
                    f"expected one {name} in one run, found {listed}",
                    remedy="run the folder again under one version, or import what belongs together from a folder of its own",
                )
        version = self._text("benchmark version")
        if self._exported and version is not None and version != self._suite.version:
            raise Malformed(
                "benchmark-version",
                f"expected records of {shown(self._suite.version)}, the manifest's version, found {shown(version)}",
                remedy=f"export the suite at {version}",
            )

    def notes(self) -> tuple[str, ...]:
        """What the files leave open, and a label of an observed manifest that is not theirs."""
        version, package = self._text("benchmark version"), self._text("package version")
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
    def pipeline_name(self) -> str | None:
        return self._text("pipeline name")

    @property
    def package_version(self) -> str | None:
        return self._text("package version")

    @property
    def system_prompt_digest(self) -> str | None:
        """Digest of the system prompt's UTF-8 bytes; null where the files show none (which does not say there was none)."""
        prompt = next(iter(self._seen["system prompt"]), None)
        return prompt.digest if isinstance(prompt, Prompt) else None

    @property
    def _exported(self) -> bool:
        """Whether the manifest was exported from the package, so that its version is the benchmark's."""
        source = self._suite.source
        return source is not None and source.package is not None and source.package.startswith("agentdojo==")

    def _text(self, name: str) -> str | None:
        value = next(iter(self._seen[name]), None)
        return value if isinstance(value, str) else None


def _by_first(item: tuple[_Value, tuple[int, str]]) -> str:
    return item[1][1]


def _value(value: _Value) -> str:
    """A value as a message names it."""
    if value is None:
        return _UNRECORDED
    return f"{value.start} ({value.digest})" if isinstance(value, Prompt) else shown(value, SHOWN_CHARACTERS)
