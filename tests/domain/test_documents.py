"""What documents mean: what is in a digest, what null and a missing key are, and which ids are one too many."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.run import Decoding, Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from pairmark.domain.world import World
from pairmark.domain.world_parts import digest_of_text

OTHER = digest_of_text("something else")


def changed(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    manifest = World().suite_manifest()
    change(manifest)
    return manifest


SAME_SUITE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another label": lambda m: m.update(version="v2"),
    "another description": lambda m: m.update(description="other words"),
    "no description": lambda m: m.pop("description"),
    "another source": lambda m: m["source"].update(license="MIT"),
    "no probe": lambda m: m.pop("probes"),
    "keys in another order": lambda m: m.update(dict(reversed(list(m.items())))),
    "a whole number written as a double": lambda m: m.update(epochs=1.0),
}
OTHER_SUITE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another name": lambda m: m.update(suite="other"),
    "a changed task": lambda m: m["tasks"][0].update(digest=OTHER),
    "a changed checker": lambda m: m["tasks"][0].update(checker=OTHER),
    "a changed injection": lambda m: m["injections"][0].update(digest=OTHER),
    "a changed injection checker": lambda m: m["injections"][0].update(checker=OTHER),
    "a changed environment": lambda m: m["environment"].update(digest=OTHER),
    "a changed clock": lambda m: m["environment"].update(clock="2026-01-01T00:00:00Z"),
    "a changed tool": lambda m: m["tools"][0].update(digest=OTHER),
    "another weighting": lambda m: m.update(weighting="cell"),
    "more epochs": lambda m: m.update(epochs=2),
    "another group": lambda m: m["tasks"][0].update(group="g1"),
    "other tags": lambda m: m["tasks"][0].update(tags=["x"]),
    "tags left out, which is not an empty list": lambda m: m["tasks"][0].pop("tags"),
    "tasks in another order": lambda m: m["tasks"].reverse(),
    "a listed grid": lambda m: m.update(grid=[]),
}


@pytest.mark.parametrize("name", SAME_SUITE)
def test_it_is_the_same_suite_with(name: str) -> None:
    assert suite_digest(changed(SAME_SUITE[name])) == suite_digest(World().suite)


@pytest.mark.parametrize("name", OTHER_SUITE)
def test_it_is_another_suite_with(name: str) -> None:
    manifest = changed(OTHER_SUITE[name])
    SuiteManifest.model_validate_json(canonical_bytes(manifest))
    assert suite_digest(manifest) != suite_digest(World().suite)


def test_white_space_is_not_content() -> None:
    manifest = World().suite_manifest()
    spaced = json.dumps(manifest, indent=8).encode()
    assert suite_digest(read_document(SuiteManifest, spaced)[1]) == suite_digest(manifest)


def test_a_document_is_kept_as_written_without_defaults() -> None:
    run = World().edit_run("attacked", "/system/defenses", [{"name": "x", "version": None}]).run("attacked")
    document, value = read_document(Run, json.dumps(run).encode())
    assert value == run
    assert digest_of(value) == digest_of(run)
    assert digest_of(document.model_dump(mode="json", by_alias=True)) != digest_of(run)


def decoding(**keys: Any) -> dict[str, Any]:
    return Decoding.model_validate_json(canonical_bytes(keys)).recorded()


def test_in_decoding_null_is_recorded_and_a_missing_key_is_not() -> None:
    assert decoding() == {}
    assert decoding(temperature=None) == {"temperature": None}
    assert decoding(temperature=0, top_p=None, max_tokens=1, stop=["x"]) == {
        "temperature": 0.0,
        "top_p": None,
        "max_tokens": 1,
        "stop": ["x"],
    }
    assert decoding(other=None) == {"other": None}


@pytest.mark.parametrize("left", ["caf\u00e9", "\u212a", "\uac00", "\u1e9b\u0323"])
@pytest.mark.parametrize("kind", ["tasks", "injections"])
def test_ids_that_are_one_after_normalisation_are_refused(kind: str, left: str) -> None:
    import unicodedata

    right = unicodedata.normalize("NFC", left)
    if right == left:
        right = unicodedata.normalize("NFD", left)
    assert left != right
    manifest = World().suite_manifest()
    manifest[kind][0]["id"], manifest[kind][1]["id"] = left, right
    with pytest.raises(Malformed, match="distinct under Unicode normalisation") as refusal:
        read_document(SuiteManifest, json.dumps(manifest).encode(), file="suite.json")
    assert str(refusal.value).isprintable()
    assert ascii(left) in str(refusal.value)


@pytest.mark.parametrize(
    ("left", "right"), [("a", "A"), ("ﬁ", "fi"), ("1", "１"), ("a", "a\u200b"), ("1", "1 "), ("1.10", "1.1")]
)
def test_ids_that_only_look_alike_are_two(left: str, right: str) -> None:
    manifest = World().suite_manifest()
    manifest["tasks"][0]["id"], manifest["tasks"][1]["id"] = left, right
    read_document(SuiteManifest, json.dumps(manifest).encode())


def test_one_id_may_be_a_task_and_an_injection() -> None:
    manifest = World().suite_manifest()
    manifest["injections"][0]["id"] = manifest["tasks"][0]["id"]
    read_document(SuiteManifest, json.dumps(manifest).encode())


@pytest.mark.parametrize(
    "field", ["tools_digest", "system_prompt_digest", "scaffold", "limits", "decoding", "defenses", "model"]
)
def test_a_system_value_may_be_null_but_not_left_out(field: str) -> None:
    world = World().edit_run("attacked", f"/system/{field}", None)
    read_document(Run, json.dumps(world.run("attacked")).encode())
    with pytest.raises(Malformed) as refusal:
        read_document(Run, json.dumps(World().drop_key("attacked", f"/system/{field}").run("attacked")).encode())
    assert (refusal.value.code, refusal.value.pointer) == ("missing-key", f"/system/{field}")
