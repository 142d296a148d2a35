"""From instance-level records to a run: read as any lines of JSON, by a mapping that the schema gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, PairmarkError, shown
from pairmark.importers.base import ArmName, Example, Fact, Imported, Recorded
from pairmark.importers.every_eval_ever.aggregate import Said, said_beside
from pairmark.importers.every_eval_ever.examples import EXAMPLES
from pairmark.importers.every_eval_ever.records import NAME_OF_ARM, RECORDS, mapping_value
from pairmark.importers.generic.cells import MAX_LINE_BYTES, scalar_of
from pairmark.importers.generic.files import NOT_READ, left_over
from pairmark.importers.generic.importer import GenericImporter
from pairmark.importers.generic.jsonl import jsonl_frames
from pairmark.importers.generic.stream import SUFFIXES, plain_chunks
from pairmark.importers.mapping import check_mapping
from pairmark.importers.system_file import agreed, check_system_file

_VERSION = re.compile(r"(instance_level_eval_)?0\.[23]\.[0-9]{1,6}")
"""Schema versions whose keys are as here; later ones are refused until they are known. Writers put both forms."""

_FACTS = ("schema_version", "evaluation_id", "model_id", "evaluation_name")
_MARKS = (*_FACTS, "sample_id", "interaction_type")
"""Keys that the schema requires of every record, and that are text."""

_MOST_FILES = 1000
_MOST_NAMED = 8


@dataclass(frozen=True)
class EveryEvalEverImporter:
    """Reads files of instance-level records; what aggregate records say is taken where one lies beside them."""

    name: str = "every-eval-ever"
    title: str = "Every Eval Ever instance-level records (lines of JSON)"
    looks_for: str = f"lines of JSON that start with a record that has {', '.join(_MARKS)} (or a folder of such files)"
    examples: tuple[Example, ...] = EXAMPLES
    records: Mapping[Fact, Recorded] = field(default_factory=lambda: RECORDS)

    def recognises(self, paths: Sequence[Path]) -> bool:
        try:
            files = _files(paths)
            return bool(files) and all(_begins_so(path) for path in files)
        except (PairmarkError, OSError, ValueError):
            return False

    def read(
        self,
        paths: Sequence[Path],
        *,
        suite: SuiteManifest,
        suite_digest: str,
        arm: ArmName,
        attack: str | None = None,
        epoch: int | None = None,
        system: Mapping[str, Any] | None = None,
    ) -> Imported:
        given = dict(system or {})
        check_system_file(given)
        files = _files(paths)
        if not files:
            raise Malformed(
                "no-records", "expected files of instance-level records (.jsonl), found none", str(paths[0]) if paths else None,
                remedy="name the file that `detailed_evaluation_results` names",
            )  # fmt: skip
        evaluation = _one_evaluation(files, arm)
        said = said_beside(files, evaluation, NAME_OF_ARM[arm])
        if arm == "attacked":
            attack = _the_attack(said.attack, attack)
        reader = GenericImporter(mapping=check_mapping(mapping_value()))
        try:
            found = reader.read(
                files, suite=suite, suite_digest=suite_digest, arm=arm, attack=attack, epoch=epoch, system=_joined(given, said)
            )
        except Malformed as problem:
            raise _in_our_words(problem) from None
        if left := left_over(paths, files):
            found = replace(found, set_aside={**found.set_aside, NOT_READ: left})
        found.run["harness"]["name"] = (given.get("harness") or {}).get("name") or said.harness
        return found


def _files(paths: Sequence[Path]) -> list[Path]:
    endings = tuple(f".jsonl{packed}" for packed in ("", *SUFFIXES))
    found: list[Path] = []
    for path in paths:
        found += sorted(child for child in path.iterdir() if child.name.endswith(endings)) if path.is_dir() else [path]
    if len(found) > _MOST_FILES:
        raise Malformed("too-many-files", f"expected at most {_MOST_FILES} files, found {len(found)}", remedy="name the files of one evaluation")
    return found


def _begins_so(path: Path) -> bool:
    begin = b""
    for chunk in plain_chunks(path):
        begin += chunk
        if b"\n" in begin or len(begin) > MAX_LINE_BYTES:
            break
    first = begin.partition(b"\n")[0]
    if not first:
        return False
    frame = next(jsonl_frames([first], _MARKS, file=str(path)))
    return all(isinstance(scalar_of(frame[name][0], name), str) for name in _MARKS)


def _one_evaluation(files: Sequence[Path], arm: ArmName) -> str:
    """The `evaluation_id` of all records.

    Raises:
        Malformed: another schema, records of two evaluations or models, or none of the arm.
    """
    seen: dict[str, dict[Any, Path]] = {name: {} for name in _FACTS}
    for path in files:
        for frame in jsonl_frames(plain_chunks(path), _FACTS, file=str(path)):
            for name in _FACTS:
                for text in frame[name].unique():
                    seen[name].setdefault(scalar_of(text, name), path)
    for version, path in seen["schema_version"].items():
        if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
            raise Malformed(
                "unknown-version", f"expected schema_version 0.2.x or 0.3.x, found {shown(version)}",
                str(path), remedy="read it with `generic` and a mapping, if its keys are the same (docs/importing.md)",
            )  # fmt: skip
    for name, code in (("evaluation_id", "mixed-evaluations"), ("model_id", "mixed-models")):
        if len(seen[name]) != 1 or not isinstance(next(iter(seen[name])), str):
            listed = ", ".join(shown(value) for value in list(seen[name])[:_MOST_NAMED])
            raise Malformed(code, f"expected one {name} in one run, found {listed}", str(files[0]), remedy="name the files of one evaluation")
    if NAME_OF_ARM[arm] not in seen["evaluation_name"]:
        listed = ", ".join(shown(value) for value in list(seen["evaluation_name"])[:_MOST_NAMED])
        raise Malformed(
            "no-episodes", f"expected records of {NAME_OF_ARM[arm]} in the {arm} arm, found {listed}", str(files[0]),
            remedy="read other evaluations with `generic` and a mapping (docs/importing.md)",
        )  # fmt: skip
    return str(next(iter(seen["evaluation_id"])))


def _joined(given: Mapping[str, Any], said: Said) -> dict[str, Any]:
    """The system file with what the aggregate record says; a contradiction is refused."""
    system = dict(given.get("system") or {})
    model = {"requested": said.requested, "provider": said.provider}
    for part, known in (("model", {key: value for key, value in model.items() if value is not None}), ("decoding", said.decoding)):
        beside = dict(system.get(part) or {})
        for key, value in known.items():
            beside[key] = agreed(value, beside.get(key), f"/system/{part}/{key}")
        if beside:
            system[part] = beside
    harness = dict(given.get("harness") or {})
    if said.version is not None:
        harness["version"] = agreed(said.version, harness.get("version"), "/harness/version")
    return {**given, **({"system": system} if system else {}), **({"harness": harness} if harness else {})}


def _the_attack(said: str | None, given: str | None) -> str | None:
    """The attack's name, as the aggregate record or the caller has it; two that differ are refused."""
    if said is not None and given is not None and said != given:
        raise Malformed(
            "contradiction", f"expected the attack {shown(said, 120)} as the aggregate record says, found {shown(given, 120)}",
            pointer="/attack/name", remedy="leave --attack out, or correct the aggregate record",
        )  # fmt: skip
    return said if said is not None else given


def _in_our_words(problem: Malformed) -> Malformed:
    """What this format lacks, where the reader of mapped files misses it."""
    if problem.code in ("unmapped-cell", "unmapped-status"):
        return Malformed(
            "no-cells", "expected `metadata.task_id`, `epoch` and `status` in every record, found a record without: the schema itself"
            " has no place for them", problem.file,
            remedy="write them into `metadata` as `pairmark export` does, or read the file with `generic` and a mapping (docs/importing.md)",
        )  # fmt: skip
    if problem.code == "no-attack-name":
        return Malformed(
            problem.code, "expected the name of the attack, found no aggregate record that says it", None,
            remedy="name it with --attack",
        )  # fmt: skip
    return problem


IMPORTER = EveryEvalEverImporter()
