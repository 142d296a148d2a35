"""The semantic diff of two suite versions: items by id, cells by content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from pairmark.domain.comparability import CellMatch, common_mix_refusal, weight_share
from pairmark.domain.documents.exact import Exact
from pairmark.domain.documents.suite import Injection, SuiteManifest, Task
from pairmark.domain.documents.suite_diff import (
    CellsDiff,
    Comparability,
    ItemChange,
    ItemPart,
    ItemsDiff,
    SettingChange,
    SuiteDiff,
    SuiteSide,
    ToolsDiff,
)
from pairmark.domain.evidence import Flags
from pairmark.domain.plan import Plan
from pairmark.domain.sample import sample_of

ItemT = TypeVar("ItemT", Task, Injection)
PARTS: dict[ItemPart, Callable[[Task | Injection], object]] = {
    "prompt": lambda item: item.digest,
    "checker": lambda item: item.checker,
    "group": lambda item: item.group,
    "tags": lambda item: item.tags,
}


def diff_suites(left: SuiteManifest, left_digest: str, right: SuiteManifest, right_digest: str) -> SuiteDiff:
    """What changed from `left` to `right`; digests are the suite digests. Never raises: any two manifests have a diff."""
    match = CellMatch(Plan(left), Plan(right))
    settings = _settings(left, right)
    tools = _tools(left, right)
    attacked = _attacked_cells(match)
    if left_digest == right_digest:
        comparability: Comparability = "same-mix"
    else:
        comparability = "common-mix" if attacked.surviving else "none"
    return SuiteDiff(
        schema="pairmark/suite-diff/v1",
        left=_side(left, left_digest, match.left),
        right=_side(right, right_digest, match.right),
        settings=settings,
        tools=tools,
        tasks=_items(left.tasks, right.tasks),
        injections=_items(left.injections, right.injections),
        benign_cells=_benign_cells(match),
        attacked_cells=attacked,
        comparability=comparability,
        common_mix_refusal=None if comparability == "same-mix" else _common_mix_refusal(match),
        notes=_notes(match, comparability, attacked, settings, tools),
    )


def _common_mix_refusal(match: CellMatch) -> str | None:
    if match.left.suite.weighting != match.right.suite.weighting:
        return "the weightings differ"
    if match.regrouped:
        return f"{len(match.regrouped)} common tasks changed their group"
    common = sample_of(match.left, match.cell_survives)
    left, right = (sample_of(plan, _constant(True, plan.cells)) for plan in (match.left, match.right))
    if common is None or left is None or right is None:
        return "no attacked cell survives"
    return common_mix_refusal(common, left, right)


def _side(suite: SuiteManifest, digest: str, plan: Plan) -> SuiteSide:
    return SuiteSide(
        name=suite.suite,
        version=suite.version,
        digest=digest,
        tasks=plan.tasks,
        injections=len(suite.injections),
        cells=plan.cells,
    )


def _settings(left: SuiteManifest, right: SuiteManifest) -> tuple[SettingChange, ...]:
    def grid(suite: SuiteManifest) -> str:
        return "full" if suite.grid == "full" else f"{len(suite.grid)} cells listed"

    compared: tuple[tuple[str, str | None, str | None, bool], ...] = (
        ("suite", left.suite, right.suite, left.suite == right.suite),
        (
            "environment.digest",
            left.environment.digest,
            right.environment.digest,
            left.environment.digest == right.environment.digest,
        ),
        (
            "environment.clock",
            left.environment.clock,
            right.environment.clock,
            left.environment.clock == right.environment.clock,
        ),
        ("grid", grid(left), grid(right), _grid_of(left) == _grid_of(right)),
        ("epochs", str(left.epochs), str(right.epochs), left.epochs == right.epochs),
        ("weighting", left.weighting, right.weighting, left.weighting == right.weighting),
    )
    return tuple(
        SettingChange.model_validate({"setting": name, "left": before, "right": after})
        for name, before, after, equal in compared
        if not equal
    )


def _grid_of(suite: SuiteManifest) -> object:
    return "full" if suite.grid == "full" else {(cell.task, cell.injection) for cell in suite.grid}


def _tools(left: SuiteManifest, right: SuiteManifest) -> ToolsDiff:
    before = {tool.name: tool.digest for tool in left.tools}
    after = {tool.name: tool.digest for tool in right.tools}
    both = [name for name in before if name in after]
    return ToolsDiff(
        same=sum(before[name] == after[name] for name in both),
        changed=tuple(name for name in both if before[name] != after[name]),
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
    )


def _items(left: Sequence[ItemT], right: Sequence[ItemT]) -> ItemsDiff:
    before: Mapping[str, ItemT] = {item.id: item for item in left}
    after: Mapping[str, ItemT] = {item.id: item for item in right}
    both = [name for name in before if name in after]
    changed = tuple(
        ItemChange(id=name, parts=parts)
        for name in both
        if (parts := tuple(part for part, read in PARTS.items() if read(before[name]) != read(after[name])))
    )
    return ItemsDiff(
        same=len(both) - len(changed),
        changed=changed,
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
    )


def _benign_cells(match: CellMatch) -> CellsDiff:
    planned_in_both = match.task_to_right >= 0
    survives = match.task_survives
    return _cells(
        left=match.left.tasks,
        right=match.right.tasks,
        planned_in_both=planned_in_both,
        survives=survives,
        differs={
            "task prompt": ~match.task_prompt_equal,
            "task checker": ~match.task_checker_equal,
            "environment": _constant(not match.environment_equal, len(survives)),
        },
        share_of_left=Fraction(int(survives.sum()), match.left.tasks),
        share_of_right=Fraction(int(survives.sum()), match.right.tasks),
    )


def _attacked_cells(match: CellMatch) -> CellsDiff:
    task, injection = match.left.cell_task, match.left.cell_injection
    return _cells(
        left=match.left.cells,
        right=match.right.cells,
        planned_in_both=match.cell_to_right >= 0,
        survives=match.cell_survives,
        differs={
            "task prompt": ~match.task_prompt_equal[task],
            "task checker": ~match.task_checker_equal[task],
            "injection prompt": ~match.injection_prompt_equal[injection],
            "injection checker": ~match.injection_checker_equal[injection],
            "environment": _constant(not match.environment_equal, len(task)),
        },
        share_of_left=weight_share(match.left, match.cell_survives),
        share_of_right=weight_share(match.right, match.right_cell_survives),
    )


def _cells(
    *,
    left: int,
    right: int,
    planned_in_both: Flags,
    survives: Flags,
    differs: Mapping[str, Flags],
    share_of_left: Fraction | None,
    share_of_right: Fraction | None,
) -> CellsDiff:
    both, surviving = int(planned_in_both.sum()), int(survives.sum())
    return CellsDiff(
        left=left,
        right=right,
        surviving=surviving,
        changed=both - surviving,
        added=right - both,
        removed=left - both,
        changed_by={part: int((planned_in_both & flags).sum()) for part, flags in differs.items()},
        share_of_left=None if share_of_left is None else Exact.of(share_of_left),
        share_of_right=None if share_of_right is None else Exact.of(share_of_right),
    )


def _constant(value: bool, size: int) -> Flags:
    return np.full(size, value, dtype=np.bool_)


def _notes(
    match: CellMatch,
    comparability: Comparability,
    attacked: CellsDiff,
    settings: Sequence[SettingChange],
    tools: ToolsDiff,
) -> tuple[str, ...]:
    if comparability == "same-mix":
        return ("the digests are equal: certificates of both versions share one history and compare directly",)
    notes = []
    if comparability == "none":
        notes.append("no attacked cell survives: certificates of the two versions do not compare on any common cell")
    else:
        notes.append(
            f"certificates of the two versions compare only on the {attacked.surviving} surviving attacked cells, and only"
            " when reweighting is asked for; headline numbers do not compare"
        )
    if any(change.setting == "environment.digest" for change in settings):
        notes.append("the environment changed, and with it every cell")
    if any(change.setting == "weighting" for change in settings):
        notes.append("the weightings differ, and numbers of two weightings are never subtracted")
    if tools.changed or tools.added or tools.removed:
        notes.append(
            f"the tools changed ({len(tools.changed)} changed, {len(tools.added)} added, {len(tools.removed)} removed):"
            " surviving cells ask the same, but the agent may have had other means"
        )
    if match.regrouped:
        notes.append(f"{len(match.regrouped)} surviving tasks changed their group, so strata do not match")
    return tuple(notes)
