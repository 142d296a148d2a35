"""From Inspect logs to a run: whether they are one, what they record of the system, and what a person should know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.base import PLACE_SCHEMA, ArmName, Example, Fact, Imported, Recorded
from pairmark.importers.epochs import check_epoch_number
from pairmark.importers.inspect.collect import Collected, Collector, the_attack
from pairmark.importers.inspect.episodes import Ids
from pairmark.importers.inspect.examples import EXAMPLES
from pairmark.importers.inspect.explained import columns_understood, run_understood
from pairmark.importers.inspect.header import (
    commit_of,
    harness_version,
    header_config,
    header_seed,
    limits_of,
    model_of,
    sandbox_text,
    scaffold_of,
    times_of,
)
from pairmark.importers.inspect.limits import LIMITS
from pairmark.importers.inspect.log_file import Log, open_log
from pairmark.importers.inspect.mapping import InspectMapping, check_mapping, mapping_for
from pairmark.importers.inspect.one_run import Evaluation, check_one_run, evaluations
from pairmark.importers.inspect.package import check_log_version
from pairmark.importers.inspect.places import is_log, logs_at
from pairmark.importers.inspect.records import RECORDS
from pairmark.importers.inspect.sent import NOT_DECODING, agreed_decoding, asked_of, decoding_of

_BEYOND_LIMITS = (
    f"samples hold more injected text than is looked for (limits: {LIMITS.payload} characters, {LIMITS.payloads} texts, {LIMITS.search} as"
    " the product of texts and characters that the model was given): whether it was delivered is unknown"
)


@dataclass(frozen=True)
class InspectImporter:
    """Reads logs of inspect_ai: the agentdojo task of inspect_evals as it is, other tasks with a mapping."""

    name: str = "inspect"
    title: str = "Inspect logs (.eval, .json): agentdojo of inspect_evals, other tasks with a mapping file"
    looks_for: str = "an .eval archive with header.json or _journal/start.json, a .json file that starts as Inspect's, or a folder of such"
    examples: tuple[Example, ...] = EXAMPLES
    records: Mapping[Fact, Recorded] = field(default_factory=lambda: RECORDS)
    mapping: InspectMapping | None = None

    def with_mapping(self, mapping: Mapping[str, Any], *, file: str | None = None) -> InspectImporter:
        """The same importer for the task that a mapping explains.

        Raises:
            Malformed: with a pointer, where it is no mapping.
        """
        return replace(self, mapping=check_mapping(mapping, file=file))

    def recognises(self, paths: Sequence[Path]) -> bool:
        try:
            return bool(paths) and all(is_log(log) for log in logs_at(paths)[0])
        except (Malformed, OSError):
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
        from pairmark.domain.episodes import frame_of
        from pairmark.importers.system_file import agreed, check_system_file, run_harness

        given = dict(system or {})
        check_system_file(given)
        check_epoch_number(epoch)
        if arm == "benign" and attack is not None:
            raise Malformed("usage", f"expected no attack in a benign arm, found {shown(attack)}", remedy="leave it out")
        logs, others = open_logs(paths)
        mapping = mapping_of(logs, self.mapping)
        _check_arm(mapping, arm)
        check_one_run(logs, mapping)
        planned = evaluations(logs)
        if epoch is not None and (len(planned) != 1 or planned[0].epochs != 1):
            raise Malformed(
                "usage",
                f"expected logs of one epoch with an epoch number, found {sum(one.epochs for one in planned)}",
                remedy="leave the number out: the logs number their epochs",
            )
        collector = Collector(mapping, Ids.of(suite), arm, attack, epoch)
        for evaluation in planned:
            collector.read(evaluation)
        found = collector.found
        if not found.rows:
            raise Malformed(
                "no-episodes",
                f"expected samples of the {arm} arm of {', '.join(sorted(Ids.of(suite).groups))}, found"
                f" {', '.join(f'{count} {kind}' for kind, count in found.set_aside.items()) or 'none'}",
                file=str(logs[0].path),
                remedy="check the suite manifest, the arm and the attack",
            )
        if others:
            found.set_aside["other files in the folder"] += others
        used = [log for log in logs if log.path in found.used]
        header = used[0].header
        recorded, notes = _recorded(used, found, mapping)
        in_logs: dict[str, Any] = {"system": recorded, "harness": _recorded_harness(header, found), "retries": {"max_attempts": _max_attempts(found.evaluations)}}
        times = times_of([log.header for log in used])
        run = {
            "schema": "pairmark/run/v1",
            "arm": arm,
            "suite": {"name": suite.suite, "digest": suite_digest},
            "attack": the_attack(found, attack, used[0]) if arm == "attacked" else None,
            "system": _system(given.get("system") or {}, recorded, found.sent.asked or _asked_in(header)),
            "harness": _harness(run_harness(given.get("harness"), name="inspect_ai", version=in_logs["harness"]["version"]), in_logs["harness"]),
            "epochs": _epochs(given, used, found),
            "retries": agreed(in_logs["retries"], given.get("retries"), "/retries"),
            "started_at": _agreed_time(times[0], given.get("started_at"), "/started_at"),
            "finished_at": _agreed_time(times[1], given.get("finished_at"), "/finished_at"),
            "episodes": None,
        }
        places = pl.DataFrame([{name: row.get(name) for name in PLACE_SCHEMA} for row in found.rows], schema=PLACE_SCHEMA)
        aside = dict(sorted(found.set_aside.items()))
        told = (*notes, *_notes(used, found))
        ledger = frame_of(found.rows)
        in_logs |= {"started_at": times[0], "finished_at": times[1]}
        understood = (
            *columns_understood(ledger, found.read, mapping, arm, epoch),
            *run_understood(run, in_logs, given, mapping, attack),
        )
        return Imported(run, ledger, tuple(found.unreadable), aside, told, understood, places)


def open_logs(paths: Sequence[Path]) -> tuple[list[Log], int]:
    """The logs at `paths`, each measured and of a release that is known; and how many other files lie beside them.

    Raises:
        Malformed: one of them cannot be read.
    """
    files, others = logs_at(paths)
    logs = [open_log(file) for file in files]
    for log in logs:
        check_log_version(log.header.eval.packages.get("inspect_ai"), str(log.path))
    return logs, others


def mapping_of(logs: Sequence[Log], given: InspectMapping | None) -> InspectMapping:
    """The one mapping of all logs; two tasks are refused when their facts are compared."""
    first, *_ = [mapping_for(log.header, given, str(log.path)) for log in logs]
    return first


def _check_arm(mapping: InspectMapping, arm: ArmName) -> None:
    if arm == "attacked" and (mapping.injection_id is None or mapping.attack_success is None):
        raise Malformed(
            "no-attack",
            "expected a mapping that says where injection ids and attack success stand, found one without",
            remedy="add `injection_id` and `attack_success` to the mapping",
        )


def _recorded(logs: Sequence[Log], found: Collected, mapping: InspectMapping) -> tuple[dict[str, Any], list[str]]:
    """What the logs record of the system, and what they leave open of it."""
    header = logs[0].header
    notes = []
    requested, provider = model_of(header)
    decoding, differing = agreed_decoding(found.sent.decodings.values())
    if decoding is None:
        decoding = decoding_of(header_config(header))
        notes.append("no model call is recorded: decoding is what the log's header sets")
    if differing:
        notes.append(f"calls differ in {', '.join(differing)}: unrecorded in decoding")
    if any(log.header.config_updates for log in logs):
        notes.append("the configuration was changed while the evaluation ran: limits are unrecorded unless they are given")
    for what, digests in (("system prompts", found.sent.prompts), ("lists of tools", found.sent.tools)):
        if len(digests) > 1:
            notes.append(f"calls had {len(digests)} different {what}: the digest is that of all of them")
    recorded = {
        "model": {"requested": requested, "served": sorted(found.sent.served) or None, "provider": provider},
        "decoding": decoding,
        "tools_digest": found.sent.tools_digest,
        "system_prompt_digest": found.sent.prompt_digest,
        "scaffold": scaffold_of(header, mapping),
        "limits": limits_of([log.header for log in logs]),
    }
    return recorded, notes


def _asked_in(header: Any) -> dict[str, list[Any]]:
    """What the header sets of each field of a call's config, where no call is recorded."""
    return {name: [value] for name, value in asked_of(header_config(header)).items()}


def _system(given: Mapping[str, Any], recorded: Mapping[str, Any], asked: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """`system` of the run. Of the model and of decoding, what was said beside the logs may add the keys that they leave open.

    In a model null is unrecorded; in decoding it is a value, not sent. The calls' configs have each field that Inspect knows, so that
    only other keys are open: one that `decoding` does not list may still be known not to have been sent.

    Raises:
        Malformed: both say a key, and differ; or one value was said of a key in which calls differ.
    """
    from pairmark.importers.system_file import agreed, run_system

    model, decoding = given.get("model") or {}, given.get("decoding") or {}
    both = {
        "model": {key: agreed(value, model.get(key), f"/system/model/{key}") for key, value in recorded["model"].items()},
        "decoding": {**decoding, **recorded["decoding"]},
    }
    for key, value in decoding.items():
        values = asked.get(key, [value])
        if list(values) != [value]:
            raise Malformed(
                "contradiction", f"expected {_told(key, values)} as the logs record it, found {shown(value, 120)}",
                pointer=f"/system/decoding/{key}", remedy="correct the system file, or leave out what the logs record",
            )  # fmt: skip
    return run_system({key: value for key, value in given.items() if key not in both}, {**recorded, **both})


def _told(key: str, values: Sequence[Any]) -> str:
    """What calls sent of a key, for people; fields that may hold secrets are not shown."""
    if len(values) > 1:
        return "no value, since calls differ in it,"
    return "the value of the calls" if key in NOT_DECODING and values[0] is not None else shown(values[0], 120)


def _recorded_harness(header: Any, found: Collected) -> dict[str, Any]:
    """Version, revision and sandbox that the log records."""
    spec = header.eval.sandbox
    sandboxes = sorted({*found.sandboxes, *([] if spec is None else [sandbox_text(spec)])})
    return {"version": harness_version(header), "commit": commit_of(header), "image": "; ".join(sandboxes)[:1024] or None}


def _harness(harness: dict[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """With the revision and the sandbox: as the log records them, else as the system file says.

    Raises:
        Malformed: both say one, and differ.
    """
    from pairmark.importers.system_file import agreed

    return {**harness, **{key: agreed(recorded[key], harness[key], f"/harness/{key}") for key in ("commit", "image")}}


def _agreed_time(recorded: str | None, given: str | None, pointer: str) -> str | None:
    """As the logs have it; the same moment may be written otherwise, in another zone.

    Raises:
        Malformed: both are known and are two moments.
    """
    from pairmark.importers.system_file import agreed

    is_same = recorded is not None and given is not None and datetime.fromisoformat(recorded) == datetime.fromisoformat(given.upper())
    return recorded if is_same else agreed(recorded, given, pointer)


def _epochs(given: Mapping[str, Any], logs: Sequence[Log], found: Collected) -> list[dict[str, Any]]:
    from pairmark.importers.system_file import run_epochs

    seeds = list(found.sent.seeds) or [header_seed(logs[0].header)]
    numbers = {row["epoch"] for row in found.rows}
    return run_epochs(given.get("epochs"), dict.fromkeys(numbers, seeds[0] if len(seeds) == 1 else None))


def _max_attempts(planned: Sequence[Evaluation]) -> int:
    """How often a sample may have been tried: Inspect's own repetitions, in each of the logs that an evaluation was continued in."""
    return max(
        sum(1 + (log.header.eval.config.retry_on_error or 0) for log in evaluation.logs) for evaluation in planned
    )


def _notes(logs: Sequence[Log], found: Collected) -> Iterator[str]:
    for log in logs:
        if log.header.status != "success":
            yield f"{log.path} has the status {log.header.status}"
        if log.header.eval.packages.get("inspect_ai") is None:
            yield f"{log.path} does not record Inspect's version: harness.version is unrecorded unless it is given"
    if found.never_run:
        yield f"{found.never_run} planned samples are not in the logs: their cells are open (cancelled)"
    if found.repeated:
        yield f"{found.repeated} attempts ended in an error and were repeated by Inspect: they are rows of their own"
    for told, what in (
        (found.edited, "verdicts were edited after scoring; the ledger has the edited ones"),
        (found.invalidated, "samples were invalidated by a person: they count as aborted"),
        (found.fallbacks, "samples were answered by several models or fell back"),
        (found.unnamed, "scores have a value that the mapping takes for neither verdict: unknown"),
        (found.not_looked_for, _BEYOND_LIMITS),
    ):
        if told.count:
            yield f"{told.count} {what}: {told}"
    if len(found.sent.seeds) > 1:
        yield f"calls had {len(found.sent.seeds)} different seeds: none is recorded for an epoch"
    if found.sent.cached:
        yield f"{found.sent.cached} answers came from Inspect's cache, not from the model"
    if found.unrecorded:
        yield f"{found.unrecorded} samples hold no events: what their model was given is unknown"


IMPORTER = InspectImporter()
