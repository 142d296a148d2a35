"""Rule `scaffold-matches`: the same agent around the model, defenses included, in both arms."""

from __future__ import annotations

from collections.abc import Sequence

from pairmark.domain.documents.run import Defense, Run
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.recorded import Compared, Comparison, judge_comparison, limits_fields, recorded, scaffold_text

EXPECTED = "system prompt, scaffold, limits and defenses recorded, and equal in the benign and the attacked run"
REMEDY = (
    "record them in `system` (a scaffold with its name and version; `limits: {}` where there are none, `defenses: []`"
    " where there are none), and run both arms with the same"
)


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Compares them one by one; the order of defenses counts, since each sees what the one before leaves."""
    benign, attacked = context.experiment.benign.run, context.experiment.attacked.run
    return judge_comparison(EXPECTED, Comparison("benign", "attacked", _fields(benign, attacked)), REMEDY)


def _fields(benign: Run, attacked: Run) -> tuple[Compared, ...]:
    here, there = benign.system, attacked.system
    return (
        Compared("system_prompt_digest", recorded(here.system_prompt_digest), recorded(there.system_prompt_digest)),
        Compared("scaffold", scaffold_text(here.scaffold), scaffold_text(there.scaffold)),
        *limits_fields(benign, attacked),
        Compared("defenses", _defenses(here.defenses), _defenses(there.defenses)),
    )


def _defenses(defenses: Sequence[Defense] | None) -> str | None:
    """Name, version and what each changes, in order; the order of what it changes says nothing."""
    if defenses is None:
        return None
    return recorded(
        [{"name": each.name, "version": each.version, "changes": sorted(set(each.changes))} for each in defenses]
    )


RULE = Rule(
    id="scaffold-matches",
    version=1,
    title="system prompt, scaffold, limits and defenses are recorded and equal in both arms",
    why=(
        "A defense that is only in the attacked arm takes its own cost out of the benign number; a shorter step limit"
        " under attack makes a drop of its own."
    ),
    source="defenses cost utility without any attack, as the benign columns of published defense tables show",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world.edit_run("all", "/system/limits", {}),
    failing=lambda world: world.edit_run("benign", "/system/defenses", []),
)
