"""What a harness did not record: the `--system` file, and how it joins what was recorded. Nothing is overruled or guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue, ValidationError

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Digest, Identifier, Strict, Time, malformed_from
from pairmark.domain.documents.run import Decoding, Defense, Epoch, Model, Retries, Scaffold, System
from pairmark.domain.errors import Malformed, shown
from pairmark.domain.strict_json import escape_pointer


class GivenModel(Strict):
    requested: Identifier | None = None
    served: tuple[Identifier, ...] | None = None
    provider: Identifier | None = None


class GivenScaffold(Strict):
    name: Identifier | None = None
    version: Identifier | None = None


class GivenSystem(Strict):
    """`system` of a run document; a key that is left out stays unrecorded."""

    model: GivenModel | None = None
    decoding: Decoding | None = None
    tools_digest: Digest | None = None
    system_prompt_digest: Digest | None = None
    scaffold: GivenScaffold | None = None
    defenses: tuple[Defense, ...] | None = None
    limits: dict[str, JsonValue] | None = None


class GivenHarness(Strict):
    name: Identifier | None = None
    version: Identifier | None = None
    commit: Identifier | None = None
    image: Identifier | None = None


class SystemFile(Strict):
    """The `system`, `harness`, `epochs`, `retries` and times of a run document, each as far as it is known."""

    system: GivenSystem | None = None
    harness: GivenHarness | None = None
    epochs: tuple[Epoch, ...] | None = None
    retries: Retries | None = None
    started_at: Time | None = None
    finished_at: Time | None = None


TO_FILL_IN = "FILL IN: "
"""How a value begins that `pairmark doctor` left to be said. It is refused, so that nothing is claimed by leaving it."""

_NESTED = {"model": tuple(Model.model_fields), "scaffold": tuple(Scaffold.model_fields)}


def check_system_file(given: Mapping[str, Any], *, file: str | None = None) -> SystemFile:
    """The file as a model.

    Raises:
        Malformed: with a pointer, on an unknown key or a value of the wrong kind.
    """
    data = canonical_bytes(dict(given))
    for pointer, value in _texts(given, ""):
        if value.startswith(TO_FILL_IN):
            raise Malformed(
                "not-filled-in", f"expected a value, found {shown(value)}", file, None, pointer, "say it, or take the key out: then it stays unrecorded"
            )
    try:
        return SystemFile.model_validate_json(data)
    except ValidationError as problem:
        raise malformed_from(problem, data, file) from None


def _texts(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with its pointer. Nesting is bounded where the file is parsed."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield from _texts(child, f"{pointer}/{escape_pointer(str(key))}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _texts(child, f"{pointer}/{index}")


def agreed(recorded: Any, given: Any, pointer: str) -> Any:
    """The one value known of the two, or null.

    Raises:
        Malformed: both are known and differ.
    """
    if recorded is not None and given is not None and recorded != given:
        raise Malformed(
            "contradiction",
            f"expected {shown(recorded, 120)} as the harness' files record it, found {shown(given, 120)}",
            pointer=pointer,
            remedy="correct the system file, or leave out what the files record",
        )
    return recorded if recorded is not None else given


def run_system(given: Mapping[str, Any] | None, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """`system` of the run document: all keys, null where nobody recorded it, values as written.

    Args:
        given: `system` of a checked system file.
        recorded: what the harness' files show, by key.
    """
    given = given or {}
    system: dict[str, Any] = {}
    for key in System.model_fields:
        value = agreed(recorded.get(key), given.get(key), f"/system/{key}")
        if key in _NESTED and value is not None:
            value = {part: value.get(part) for part in _NESTED[key]}
        system[key] = value
    return system


def run_harness(given: Mapping[str, Any] | None, *, name: str, version: str | None) -> dict[str, Any]:
    """`harness` of the run document. `name` is that of the file format: a fork may be named instead of it."""
    given = given or {}
    return {
        "name": given.get("name") if given.get("name") is not None else name,
        "version": agreed(version, given.get("version"), "/harness/version"),
        "commit": given.get("commit"),
        "image": given.get("image"),
    }


def run_epochs(given: list[dict[str, Any]] | None, found: Mapping[int, int | None]) -> list[dict[str, Any]]:
    """`epochs` of the run document, from the epochs found in the files and their seeds, where known.

    Raises:
        Malformed: the file lists other epochs than were found, or another seed.
    """
    if given is None:
        return [{"epoch": number, "seed": seed} for number, seed in sorted(found.items())]
    listed = {item["epoch"]: item["seed"] for item in given}
    if len(listed) != len(given) or set(listed) != set(found):
        raise Malformed(
            "contradiction",
            f"expected the epochs {sorted(found)} as found in the folders, found {sorted(i['epoch'] for i in given)}",
            pointer="/epochs",
            remedy="list every epoch once, numbered from 1 in the order of the folders",
        )
    return [
        {"epoch": number, "seed": agreed(seed, listed[number], f"/epochs/{index}/seed")}
        for index, (number, seed) in enumerate(sorted(found.items()))
    ]
