"""What a log's header states of the run: model, package versions, limits, scaffold, sandbox, times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pairmark.domain.canonical import digest_of_bytes
from pairmark.importers.inspect.mapping import InspectMapping, at_pointer
from pairmark.importers.inspect.payload import attack_template

_LIMITS = ("message_limit", "token_limit", "token_limit_type", "turn_limit", "time_limit", "working_limit", "cost_limit")
_NAME_CHARACTERS = 1024


def model_of(header: Any) -> tuple[str, str | None]:
    """The model as it was asked for, and its provider: what stands before the first slash."""
    provider, slash, _ = header.eval.model.partition("/")
    return header.eval.model, provider if slash else None


def harness_version(header: Any) -> str | None:
    """Inspect's version, with the other packages that the log names and the task's own version: together they are the harness."""
    packages = dict(header.eval.packages)
    own = packages.pop("inspect_ai", None)
    if own is None:
        return None
    task = f"{header.eval.task_registry_name or header.eval.task} {header.eval.task_version}"
    full = (header.eval.metadata or {}).get("full_task_version")
    others = [f"{name} {version}" for name, version in sorted(packages.items())]
    return _name("; ".join([own, *others, f"task {task}" + (f" ({full})" if isinstance(full, str) else "")]))


def commit_of(header: Any) -> str | None:
    """The revision of the code that ran; null where none is recorded or the working tree had changes."""
    revision = header.eval.revision
    return _name(revision.commit) if revision is not None and not revision.dirty else None


def sandbox_text(spec: Any) -> str:
    """A sandbox as one text: its type and configuration, as Inspect records them. It records no digest of an image."""
    if spec.config is None:
        return _name(str(spec.type))
    config = spec.config if isinstance(spec.config, str) else stable_digest(spec.config)
    return _name(f"{spec.type}:{config}")


def limits_of(headers: Sequence[Any]) -> dict[str, Any] | None:
    """The limits that were set on a sample; null where they were changed while it ran."""
    if any(header.config_updates for header in headers):
        return None
    config = headers[0].eval.config
    return {name: getattr(config, name) for name in _LIMITS if getattr(config, name, None) is not None}


def scaffold_of(header: Any, mapping: InspectMapping) -> dict[str, str]:
    """The solvers that are no set-up, in order, and as version the digest of their parameters."""
    steps = [step for step in header.plan.steps if step.solver not in mapping.setup]
    if header.plan.finish is not None:
        steps.append(header.plan.finish)
    names = " > ".join(step.solver for step in steps)
    version = stable_digest([[step.solver, step.params] for step in steps])
    return {"name": _name(f"inspect: {names or 'no solver'}"), "version": version}


def attack_of(header: Any, mapping: InspectMapping) -> tuple[str | None, str | None]:
    """Name of the attack as the log has it, and digest of its wording; each null where the log has none."""
    value = at_pointer(header, mapping.attack) if mapping.attack is not None else None
    template = attack_template(header, mapping)
    name = value if isinstance(value, str) and value else None
    return None if name is None else _name(name), None if template is None else stable_digest(template)


def times_of(headers: Sequence[Any]) -> tuple[str | None, str | None]:
    """First start and last end; the end is null while a log is not finished."""
    starts = [str(header.stats.started_at) for header in headers]
    ends = [str(header.stats.completed_at) for header in headers]
    return (min(starts) if all(starts) else None), (max(ends) if all(ends) else None)


def version_facts(header: Any) -> dict[str, str]:
    """The facts on which logs of one suite version must agree, as texts."""
    spec = header.eval
    return {
        "task": str(spec.task_registry_name or spec.task),
        "task version": str(spec.task_version),
        "package versions": ", ".join(f"{name} {version}" for name, version in sorted(spec.packages.items())) or "(unrecorded)",
    }


def one_run_facts(header: Any, mapping: InspectMapping) -> dict[str, str]:
    """The facts on which all logs of a run must agree, as texts."""
    spec = header.eval
    steps = [[step.solver, step.params] for step in header.plan.steps]
    arguments = {name: value for name, value in spec.task_args.items() if name not in mapping.selection}
    return {
        **version_facts(header),
        "model": spec.model,
        "model base url": "(none)" if spec.model_base_url is None else stable_digest(spec.model_base_url),
        "model arguments": stable_digest(spec.model_args),
        "generate config": stable_digest([_dumped(spec.model_generate_config), _dumped(header.plan.config)]),
        "task arguments": stable_digest(arguments),
        "solvers": stable_digest(steps),
        "limits": json.dumps({name: getattr(spec.config, name, None) for name in _LIMITS}, sort_keys=True),
        "sandbox": "(none)" if spec.sandbox is None else sandbox_text(spec.sandbox),
        "revision": "(unrecorded)" if spec.revision is None else f"{spec.revision.commit}{' (changed)' if spec.revision.dirty else ''}",
    }


def header_seed(header: Any) -> int | None:
    """The seed that the plan sets, else the model's own config."""
    return next((c.seed for c in (header.plan.config, header.eval.model_generate_config) if c.seed is not None), None)


def header_config(header: Any) -> Any:
    """The generate config as it applies to a call: what the plan sets over what was set on the model."""
    return header.eval.model_generate_config.merge(header.plan.config)


def _dumped(config: Any) -> Any:
    return config.model_dump(mode="json", exclude_none=True)


def stable_digest(value: Any) -> str:
    """Digest of a JSON value, or of a text for what is none."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=_plain)
    return digest_of_bytes(text.encode("ascii"))


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump is not None else str(value)


def _name(text: str) -> str:
    """A text as an identifier: bounded, without control characters."""
    kept = "".join(c if c.isprintable() else " " for c in text)
    return kept if len(kept) <= _NAME_CHARACTERS else f"{kept[: _NAME_CHARACTERS - 80]} {stable_digest(text)}"
