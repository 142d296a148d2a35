"""The aggregate record that lies beside instance-level records: what it says of the system."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairmark.domain import strict_json
from pairmark.domain.errors import Malformed, shown

MAX_BYTES = 16 * 2**20
_UNKNOWN = ("", "unknown")


@dataclass(frozen=True)
class Said:
    """What an aggregate record says; null or empty where it says nothing."""

    harness: str | None = None
    version: str | None = None
    requested: str | None = None
    provider: str | None = None
    decoding: dict[str, Any] = field(default_factory=dict)
    attack: str | None = None


def said_beside(files: Sequence[Path], evaluation: str, name: str) -> Said:
    """What the one aggregate record of `evaluation` in the files' folders says; nothing where there is none.

    Args:
        files: the files of the instance-level records.
        evaluation: their `evaluation_id`.
        name: `evaluation_name` of the result whose settings count.

    Raises:
        Malformed: there are two such records, or one is not as the schema has it.
    """
    found = [(path, value) for path in _candidates(files) if (value := _aggregate(path, evaluation)) is not None]
    if len(found) > 1:
        raise Malformed(
            "several-aggregates", f"expected one aggregate record of {shown(evaluation)}, found {len(found)}", str(found[1][0]),
            remedy="keep one beside the instance-level records",
        )  # fmt: skip
    return Said() if not found else _said(found[0][1], name, str(found[0][0]))


def _candidates(files: Iterable[Path]) -> list[Path]:
    folders = sorted({path.parent for path in files})
    return [
        Path(entry.path)
        for folder in folders
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name)
        if entry.name.endswith(".json") and entry.is_file(follow_symlinks=False) and entry.stat().st_size <= MAX_BYTES
    ]


def _aggregate(path: Path, evaluation: str) -> dict[str, Any] | None:
    try:
        value = strict_json.parse(path.read_bytes())
    except (Malformed, OSError):  # some other file
        return None
    if not isinstance(value, dict) or value.get("evaluation_id") != evaluation or "evaluation_results" not in value:
        return None
    return value


def _said(value: dict[str, Any], name: str, file: str) -> Said:
    library, model = _object(value, "eval_library", file), _object(value, "model_info", file)
    results = value["evaluation_results"]
    chosen: dict[str, Any] = {}
    if isinstance(results, list):
        chosen = next((each for each in results if isinstance(each, dict) and each.get("evaluation_name") == name), {})
    details = _object(_object(chosen, "metric_config", file), "additional_details", file)
    arguments = _object(_object(chosen, "generation_config", file), "generation_args", file)
    decoding = {key: arguments[key] for key in ("temperature", "top_p", "max_tokens") if arguments.get(key) is not None}
    return Said(
        _text(library, "name", file), _text(library, "version", file), _text(model, "name", file),
        _text(model, "inference_platform", file), decoding, _text(details, "attack", file),
    )  # fmt: skip


def _object(value: dict[str, Any], key: str, file: str) -> dict[str, Any]:
    found = value.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Malformed("invalid-type", f"expected `{key}` to be an object, found {shown(found, 60)}", file, remedy="see the schema of the format")
    return found


def _text(value: dict[str, Any], key: str, file: str) -> str | None:
    found = value.get(key)
    if found is None:
        return None
    if not isinstance(found, str):
        raise Malformed("invalid-type", f"expected `{key}` to be text, found {shown(found, 60)}", file, remedy="see the schema of the format")
    return None if found in _UNKNOWN else found
