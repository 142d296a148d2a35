"""Before an expensive evaluation: what a small trial run proves, what has to be said beside it, and what its format never can.

Nothing here knows a harness: what counts is the trial as it was read, and what its reader declares of the format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from pairmark.app.trial_cells import TrialCells, cells_of
from pairmark.domain.documents.run import REQUIRED_DECODING_KEYS
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.importers.base import FACTS, Fact, Imported, Recorded
from pairmark.importers.system_file import TO_FILL_IN

State = Literal["recorded", "partly", "missing", "declared", "unread"]
"""`declared`: the format holds it, and this trial had no occasion to show it. `unread`: no arm was read that could show it."""

Outlook = Literal["ready", "beside", "impossible", "open", "weaker", "contradicted"]
"""`contradicted`: the trial's cells are not the manifest's. `beside`: once it is said with --system. `open`: not shown yet. `weaker`: passes, or does not apply, and proves less."""

_COLUMNS: dict[Fact, tuple[str, ...]] = {
    "utility": ("benign", "attacked"), "attack_success": ("attacked",), "delivered": ("attacked",), "attacker_actions": ("attacked",),
    "duration_ms": ("benign", "attacked"), "error": ("benign", "attacked"), "task_digest": ("benign", "attacked"),
    "transcript_digest": ("benign", "attacked"),
}  # fmt: skip
_SEEN_SELDOM: tuple[Fact, ...] = ("aborts", "attempts", "error")

NEEDS: Mapping[str, tuple[Fact, ...]] = {
    "suite-pinned": (), "arm-shape": (), "cells-complete": (), "data-quality": (),
    "model-matches": ("served_model",),
    "decoding-matches": ("decoding",),
    "tools-match": ("tools_digest",),
    "scaffold-matches": ("system_prompt_digest", "scaffold", "limits", "defenses"),
    "harness-matches": ("harness_version",),
    "outcomes-known": ("utility", "attack_success"),
    "aborts-within-limits": ("aborts",),
    "baseline-undefended": ("defenses", "served_model", "decoding", "tools_digest", "system_prompt_digest", "scaffold", "limits"),
    "baseline-delivery": ("delivered",),
    "sign-plausible": ("utility",),
    "content-matches": ("task_digest",), "epochs-match": ("seeds",), "attempts-honest": ("attempts",), "attack-applied": ("transcript_digest",),
}  # fmt: skip
"""What a rule needs recorded; a test holds it against the installed rules."""

OPTIONAL = frozenset({"content-matches", "epochs-match", "attempts-honest", "attack-applied"})
"""Rules that pass, or do not apply, where nothing is recorded."""

_OVER_CELLS = frozenset({"outcomes-known", "aborts-within-limits", "baseline-delivery", "sign-plausible", "attempts-honest", "attack-applied"})
"""Rules that judge planned cells only."""

_WORST_FIRST: tuple[Outlook, ...] = ("impossible", "open", "beside")

_FILL: Mapping[Fact, tuple[str, str]] = {
    "requested_model": ("system/model/requested", "the model that was asked for"),
    "served_model": ("system/model/served", 'the snapshots that answered, as a list: ["gpt-4o-2024-08-06"]'),
    "provider": ("system/model/provider", "who serves the model"),
    "tools_digest": ("system/tools_digest", "sha256:… of the tools as the model saw them"),
    "system_prompt_digest": ("system/system_prompt_digest", "sha256:… of the system prompt in UTF-8"),
    "scaffold": ("system/scaffold", '{"name": …, "version": …}'),
    "defenses": ("system/defenses", '[] for an undefended system, else [{"name": …, "version": …, "changes": […]}]'),
    "limits": ("system/limits", '{} where there are none, else such as {"max_steps": 15}'),
    "harness_version": ("harness/version", "the harness' version"),
    "times": ("started_at", "2026-01-22T07:00:00+00:00, and finished_at likewise"),
}


@dataclass(frozen=True)
class FactFound:
    """One fact: what the trial shows of it, and what the format declares (null: its reader declares nothing).

    `lacking`: of a fact with parts, those that are not recorded.
    """

    fact: Fact
    state: State
    known: int
    of: int
    declared: Recorded | None
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class RuleOutlook:
    """Whether a rule can be satisfied with runs like the trial, and for want of which facts not."""

    rule: str
    outlook: Outlook
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Examination:
    """What a trial shows.

    Attributes:
        facts: every fact, in the order of `FACTS`.
        rules: every rule of the policy, in its order.
        remarks: what a person should look at, one sentence each.
        system: what is left to say with --system, ready to fill in; empty when nothing is.
        cells: each arm that was read, held against the manifest.
    """

    facts: tuple[FactFound, ...]
    rules: tuple[RuleOutlook, ...]
    remarks: tuple[str, ...]
    system: Mapping[str, Any]
    cells: tuple[TrialCells, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether every rule can be satisfied with what is recorded, over the cells that the manifest plans."""
        return not any(arm.problems for arm in self.cells) and all(rule.outlook in ("ready", "weaker") for rule in self.rules)


def examine(
    arms: Mapping[str, Imported], records: Mapping[Fact, Recorded], rules: Sequence[str], suite: SuiteManifest | None
) -> Examination:
    """What the arms of a trial show.

    Args:
        arms: `benign` and `attacked`, those that could be read; none where no suite was given.
        records: what the reader declares of its format.
        rules: ids of a policy's rules.
        suite: the manifest, if one was given.
    """
    facts = tuple(_found(fact, arms, records.get(fact)) for fact in FACTS)
    by_fact = {found.fact: found for found in facts}
    cells = () if suite is None else tuple(cells_of(name, arm, suite) for name, arm in arms.items())
    return Examination(
        facts,
        tuple(_of_cells(_outlook(rule, by_fact), cells) for rule in rules),
        tuple(_remarks(arms, suite, by_fact)),
        _skeleton(by_fact, arms),
        cells,
    )


def _of_cells(outlook: RuleOutlook, cells: Sequence[TrialCells]) -> RuleOutlook:
    """The outlook, where the cells bear it: a rule over planned cells shows nothing where the trial has none."""
    if outlook.rule == "cells-complete" and any(arm.problems for arm in cells):
        return RuleOutlook(outlook.rule, "contradicted", ())
    if outlook.rule == "attempts-honest" and any(arm.repeated for arm in cells) and outlook.outlook in ("ready", "weaker"):
        return RuleOutlook(outlook.rule, "open", ())
    none = any(arm.problems and not arm.present for arm in cells)
    if outlook.rule in _OVER_CELLS and none and outlook.outlook in ("ready", "weaker"):
        return RuleOutlook(outlook.rule, "open", ())
    return outlook


def _found(fact: Fact, arms: Mapping[str, Imported], declared: Recorded | None) -> FactFound:
    known, of = _counted(fact, arms)
    lacking = _lacking_decoding(arms) if fact == "decoding" and known < of else ()
    if of == 0:
        state: State = "unread"
    elif known == of:
        state = "recorded"
    elif known:
        state = "recorded" if fact in _SEEN_SELDOM else "partly"
    elif fact in _SEEN_SELDOM and declared is not None and declared.extent != "never":
        state = "declared"
    else:
        state = "missing"
    if state == "missing" and lacking and len(lacking) < len(REQUIRED_DECODING_KEYS):
        state = "partly"
    return FactFound(fact, state, known, of, declared, lacking)


def _lacking_decoding(arms: Mapping[str, Imported]) -> tuple[str, ...]:
    """Keys of the decoding that some arm does not record."""
    recorded = [arm.run["system"]["decoding"] or {} for arm in arms.values()]
    return tuple(key for key in REQUIRED_DECODING_KEYS if not recorded or any(key not in each for each in recorded))


def _counted(fact: Fact, arms: Mapping[str, Imported]) -> tuple[int, int]:
    """In how many of how many episodes (or runs, for what holds for a run) the fact is known."""
    if fact in _COLUMNS:
        columns = [_assessed(arms[arm])[fact] for arm in _COLUMNS[fact] if arm in arms]
        of = sum(map(len, columns))
        return of - sum(column.null_count() for column in columns), of
    if fact == "served_model":
        told = [(len(_assessed(arm)) if _served(arm) else len(_assessed(arm)["served_model"].drop_nulls())) for arm in arms.values()]
        return sum(told), sum(len(_assessed(arm)) for arm in arms.values())
    if fact in ("aborts", "attempts"):
        seen = [
            arm.episodes["status"].is_in(["infra_error", "cancelled"]).sum() if fact == "aborts" else (arm.episodes["attempt"] > 1).sum()
            for arm in arms.values()
        ]
        return sum(map(int, seen)), sum(arm.episodes.height for arm in arms.values())
    return sum(_in_run(fact, arm.run) for arm in arms.values()), len(arms)


def _assessed(arm: Imported) -> pl.DataFrame:
    return arm.episodes.filter(~pl.col("status").is_in(["infra_error", "cancelled"]))


def _served(arm: Imported) -> bool:
    model = arm.run["system"]["model"]
    return model is not None and bool(model["served"])


def _in_run(fact: Fact, run: Mapping[str, Any]) -> bool:
    system, model = run["system"], run["system"]["model"] or {}
    if fact in ("requested_model", "provider"):
        return model.get("requested" if fact == "requested_model" else "provider") is not None
    if fact == "decoding":
        return system["decoding"] is not None and all(key in system["decoding"] for key in REQUIRED_DECODING_KEYS)
    if fact == "seeds":
        return all(epoch["seed"] is not None for epoch in run["epochs"])
    if fact == "harness_version":
        return run["harness"]["name"] is not None and run["harness"]["version"] is not None
    if fact == "times":
        return run["started_at"] is not None and run["finished_at"] is not None
    if fact == "scaffold":
        return system["scaffold"] is not None and None not in system["scaffold"].values()
    return system[fact] is not None


def _outlook(rule: str, facts: Mapping[Fact, FactFound]) -> RuleOutlook:
    wanting = {fact: want for fact in NEEDS.get(rule, ()) if (want := _want(facts[fact])) is not None}
    if not wanting:
        return RuleOutlook(rule, "ready", ())
    if rule in OPTIONAL:
        return RuleOutlook(rule, "weaker", tuple(wanting))
    worst: Outlook = next(each for each in _WORST_FIRST if each in wanting.values())
    return RuleOutlook(rule, worst, tuple(fact for fact, want in wanting.items() if want == worst))


def _want(found: FactFound) -> Outlook | None:
    """What a fact still wants; null: nothing."""
    extent = None if found.declared is None else found.declared.extent
    if found.state in ("recorded", "declared") or (found.state == "unread" and extent == "always"):
        return None
    if found.fact in _FILL or found.fact == "decoding":
        return "beside" if found.state != "unread" or extent == "never" else "open"
    return "impossible" if extent == "never" else "open"


def _remarks(arms: Mapping[str, Imported], suite: SuiteManifest | None, facts: Mapping[Fact, FactFound]) -> Iterator[str]:
    if suite is None:
        yield "no suite was given, so nothing was read: --suite FILE lets the trial itself be looked at"
    elif suite.probes is None or suite.probes.null_agent is None:
        yield "the suite records no null-agent probe: where the attacked arm does as well as the benign one, sign-plausible is held"
    for name in ("benign", "attacked"):
        if suite is not None and name not in arms:
            yield f"the trial shows no {name} arm: run a few cells of it, too"
    attacked = arms.get("attacked")
    if attacked is not None and facts["delivered"].known and not attacked.episodes["delivered"].any():
        yield "no episode shows its injection delivered: check that the attack places its text where the tasks read it"
    if attacked is not None and facts["attack_success"].known:
        acted = (attacked.episodes["attack_success"].fill_null(False) | (attacked.episodes["attacker_actions"].fill_null(0) > 0)).any()
        if not acted:
            yield "no episode shows an action for the attacker: an undefended baseline needs at least one, or the policy transcript/1"
    if facts["aborts"].state == "declared":
        yield "no episode broke off in this trial: what an error looks like could not be seen, only that the format tells it"
    if arms and facts["seeds"].state == "missing":
        yield "no seed is recorded: null says that none was sent; give it with --system (`epochs`) if one was"
    served = {name for arm in arms.values() for name in arm.episodes["served_model"].drop_nulls().unique()}
    if len(served) > 1:
        yield f"several models answered ({', '.join(sorted(served)[:4])}): one run has one served model"
    for name, arm in arms.items():
        if arm.unreadable:
            yield f"{len(arm.unreadable)} files of the {name} arm could not be read; the first: {arm.unreadable[0].path}: {arm.unreadable[0].reason}"


def _skeleton(facts: Mapping[Fact, FactFound], arms: Mapping[str, Imported]) -> dict[str, Any]:
    """A --system file with what is not recorded. Whoever leaves a part as it is gets a refusal instead of a claim."""
    found: dict[str, Any] = {}
    for fact, (path, words) in _FILL.items():
        if facts[fact].state == "recorded":
            continue
        *above, last = path.split("/")
        here = found
        for part in above:
            here = here.setdefault(part, {})
        here[last] = f"{TO_FILL_IN}{words}"
        if fact == "times":
            found["finished_at"] = f"{TO_FILL_IN}as started_at"
    if facts["decoding"].state != "recorded":
        told = dict.fromkeys(_lacking_decoding(arms), f"{TO_FILL_IN}what was sent, or null if nothing was")
        found.setdefault("system", {})["decoding"] = told
    return found
