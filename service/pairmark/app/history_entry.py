"""The line of a certificate in history: what it is found by and what an answer shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairmark.app.check import CheckedPair
from pairmark.app.ports import Certification, HistoryEntry
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.evidence import Arm, Experiment

DEFINITION = "pairmark/report/v1"
"""Names what the four rates mean; entries of another definition never stand in one answer."""

RATES = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")


def history_entry(
    experiment: Experiment, checked: CheckedPair, certification: Certification, certificate_id: str, issued_at: str
) -> HistoryEntry:
    """The history line of a certified pair."""
    run, metrics = experiment.attacked.run, checked.value["metrics"]
    models = served_models(experiment.attacked)
    requested = None if run.system.model is None else run.system.model.requested
    summary: dict[str, Any] = {
        "certificate": certificate_id,
        "certification": certification.id,
        "issued_at": issued_at,
        "policy": checked.value["policy"],
        "flags": checked.value["flags"],
        "system": {
            "model": {"requested": requested, "served": models},
            "defenses": [defense.model_dump(mode="json") for defense in run.system.defenses or ()],
            "scaffold": None if run.system.scaffold is None else run.system.scaffold.model_dump(mode="json"),
        },
        "attack": None if run.attack is None else run.attack.model_dump(mode="json"),
        "harness": run.harness.model_dump(mode="json"),
        "metrics": {name: metrics[name] for name in ("weighting", "scope", *RATES)},
    }
    scaffold = run.system.scaffold
    names = named_versions(
        [requested, *models],
        [(one.name, one.version) for one in run.system.defenses or ()],
        None if run.attack is None else run.attack.name,
        (run.harness.name, run.harness.version),
        None if scaffold is None else (scaffold.name, scaffold.version),
    )
    names["policy"] = [f"{checked.report.policy.name}/{checked.report.policy.version}"]
    return HistoryEntry(
        certificate=certificate_id,
        suite=experiment.suite_digest,
        weighting=experiment.suite.weighting,
        definition=DEFINITION,
        created_at=issued_at,
        metrics={name: metrics[name].get("fraction") for name in RATES},
        names=names,
        summary=canonical_bytes(summary),
        suite_name=experiment.suite.suite,
    )


def named_versions(
    models: Sequence[str | None],
    defenses: Sequence[tuple[str, str | None]] | None,
    attack: str | None,
    harness: tuple[str | None, str | None],
    scaffold: tuple[str | None, str | None] | None,
) -> dict[str, list[str]]:
    """What filters may say, by kind: a name alone or `name@version`; `none` for no defense, nothing where it is unrecorded."""
    found: dict[str, list[str | None]] = {
        "model": list(models),
        "defense": []
        if defenses is None
        else [name for one in defenses for name in _with_version(*one)] or ["none"],
        "attack": [attack],
        "harness": _with_version(*harness),
        "scaffold": [] if scaffold is None else _with_version(*scaffold),
    }
    return {kind: sorted({name for name in names if name is not None}) for kind, names in found.items()}


def _with_version(name: str | None, version: str | None) -> list[str | None]:
    return [name, None if name is None or version is None else f"{name}@{version}"]


def served_models(arm: Arm) -> list[str]:
    """The models that answered, as the run says and as its episodes say."""
    model = arm.run.system.model
    said = () if model is None or model.served is None else model.served
    return sorted({*said, *arm.ledger["served_model"].drop_nulls().unique().to_list()})
