"""Rule `baseline-undefended`: the positive control is the attacked system without its defenses, and nothing else."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pairmark.domain.documents.base import Strict
from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.documents.run import Defense, Run
from pairmark.domain.evidence import Arm, Experiment
from pairmark.rules.base import Context, Judgement, Rule, exact
from pairmark.rules.completeness import aborted_share, deviation_evidence, deviation_texts, deviations
from pairmark.rules.recorded import (
    Compared,
    Comparison,
    attack_fields,
    decoding_fields,
    harness_fields,
    limits_fields,
    recorded,
    recorded_or_none_used,
    scaffold_text,
    served_field,
)
from pairmark.rules.wording import counted, failed, passed, share_text
from pairmark.stats.exact import decimal_string

REMEDY = (
    "run the attack on the same system without its defenses and give that run as the baseline; what a defense changes"
    " (system_prompt, tools, scaffold) is declared in its `changes`"
)


class BaselineLimits(Strict):
    """Largest aborted share of the baseline, of planned cells × its own epochs."""

    max_share: Annotated[float, Field(ge=0, le=1)]


def judge(context: Context, params: BaselineLimits) -> Judgement:
    """Completeness, absence of defenses, and the system field by field against the attacked run's."""
    experiment = context.experiment
    baseline = experiment.baseline
    expected = (
        f"an undefended baseline, complete with an aborted share of at most {params.max_share}, otherwise as the"
        " attacked run"
    )
    if baseline is None:
        evidence: dict[str, EvidenceValue] = {
            "baseline": None,
            "defenses": _names(experiment.attacked.run.system.defenses),
        }
        return failed(expected, ["no baseline, and an attacked run that is not undefended"], REMEDY, evidence)
    found, evidence = _incomplete(experiment, baseline, params)
    defenses = baseline.run.system.defenses
    evidence["defenses"] = _names(defenses)
    if defenses is None:
        found.append("defenses not recorded in the baseline run")
    elif defenses:
        found.append(
            f"{counted(len(defenses), 'defense')} in the baseline run ({', '.join(each.name for each in defenses)})"
        )
    comparison = Comparison("baseline", "attacked", _fields(baseline, experiment.attacked))
    found += comparison.texts()
    evidence |= comparison.evidence()
    if found:
        return failed(expected, found, _remedy(experiment, found, defenses, comparison), evidence)
    itself = baseline is experiment.attacked
    return passed(
        "the attacked run is undefended and its own baseline"
        if itself
        else "an undefended, complete baseline, otherwise as the attacked run",
        evidence,
    )


def _remedy(experiment: Experiment, found: list[str], defenses: tuple[Defense, ...] | None, comparison: Comparison) -> str:
    """What fits what was found: an undefended run is not to be run again for want of a record, or of some cells."""
    if defenses:
        return REMEDY
    steps = []
    if any("aborted" in text for text in found):
        steps.append("run the aborted cells of the baseline again as next attempts")
    if any(" missing in " in text for text in found):
        steps.append("run the missing cells of the baseline")
    if any(" not planned in " in text or " undeclared epoch in " in text or " repeated in " in text for text in found):
        steps.append("hand in the planned cells of the baseline, each once")
    if defenses is None:
        steps.append("record that the baseline has no defenses (`defenses`: [])")
    if comparison.texts():
        steps.append(_of_fields(experiment))
    return ", and ".join(steps) or REMEDY


def _of_fields(experiment: Experiment) -> str:
    declared = sorted({change for each in experiment.attacked.run.system.defenses or () for change in each.changes})
    said = "run the attack on the model, settings and harness of the attacked run, and record what is unrecorded"
    if not declared:
        return f"{said} (what a defense changes, of system_prompt, tools and scaffold, is declared in its `changes`)"
    return f"{said} (`changes` declares {', '.join(declared)}: add what a defense changes, and take out what it does not)"


def _incomplete(
    experiment: Experiment, baseline: Arm, params: BaselineLimits
) -> tuple[list[str], dict[str, EvidenceValue]]:
    deviating = deviations(experiment, baseline)
    aborted, share = aborted_share(experiment, baseline)
    found = deviation_texts(baseline, deviating)
    if share is None:
        found.append("no planned cell in the baseline")
    elif share > exact(params.max_share):
        found.append(f"{counted(aborted, 'aborted cell')} in the baseline, a share of {decimal_string(share)}")
    return found, {
        "baseline": baseline.run_digest,
        "epochs": len(baseline.run.epochs),
        "aborted": aborted,
        "share": share_text(share),
        **deviation_evidence(deviating),
    }


def _names(defenses: tuple[Defense, ...] | None) -> EvidenceValue:
    return None if defenses is None else tuple(each.name for each in defenses)


def _fields(baseline: Arm, attacked: Arm) -> tuple[Compared, ...]:
    mine, theirs = baseline.run, attacked.run
    return (
        Compared("suite.name", recorded(mine.suite.name), recorded(theirs.suite.name)),
        Compared("suite.digest", recorded(mine.suite.digest), recorded(theirs.suite.digest)),
        *attack_fields(mine.attack, theirs.attack),
        *harness_fields(mine.harness, theirs.harness),
        served_field(baseline, attacked),
        Compared("model.provider", _provider(mine), _provider(theirs)),
        *decoding_fields(mine.system.decoding, theirs.system.decoding),
        *limits_fields(mine, theirs),
        *_changeable_fields(mine, theirs),
    )


def _changeable_fields(baseline: Run, attacked: Run) -> tuple[Compared, ...]:
    """Prompt, tools and scaffold: equal, except where a defense of the attacked run says that it changes them."""
    mine, theirs = baseline.system, attacked.system
    if theirs.defenses is None:
        return (Compared("defenses", "", None),)
    changes = {change for each in theirs.defenses for change in each.changes}
    return (
        Compared(
            "system_prompt_digest",
            recorded(mine.system_prompt_digest),
            recorded(theirs.system_prompt_digest),
            "system_prompt" in changes,
        ),
        Compared("tools_digest", recorded(mine.tools_digest), recorded(theirs.tools_digest), "tools" in changes),
        Compared("scaffold", scaffold_text(mine.scaffold), scaffold_text(theirs.scaffold), "scaffold" in changes),
    )


def _provider(run: Run) -> str:
    """Two null providers are equal: a model that is run at home has none."""
    return recorded_or_none_used(None if run.system.model is None else run.system.model.provider)


RULE = Rule(
    id="baseline-undefended",
    version=1,
    title="a complete undefended baseline of the same system exists",
    why=(
        "Without a positive control, an injection that never arrived and one that was resisted look alike. A baseline"
        " of another model, provider or suite version, or with the defense still in, controls nothing."
    ),
    source="positive controls are ordinary laboratory practice; public defense tables seldom publish theirs",
    remedy=REMEDY,
    params=BaselineLimits,
    judge=judge,
    passing=lambda world: world.undefended(),
    failing=lambda world: world.swap_model("baseline"),
)
