"""Random small pairs, in the words of `worked`, with every kind of episode and hole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from pairmark.domain.pairing import Pairing
from pairmark.domain.worked import worked

CLEAN = ["1", "1", "1", "0", "0", "l", "b", "-", "."]
HIT = ["1d", "1n", "0d", "0sd", "0n", "1sd", "ld", "b?d", "bd", "b?n", "-", "-s", ".", "0", "1"]
BASE = ["0sd", "0d", "1d", "1n", "0n", "-", ".", "0"]
TAGS = ["multi-hop", "writes", "long"]


@dataclass(frozen=True)
class Pair:
    """What `worked` is given."""

    benign: dict[str, str]
    attacked: dict[str, dict[str, str]]
    baseline: dict[str, dict[str, str]] | None
    groups: dict[str, str]
    tags: dict[str, list[str]]
    weighting: str

    def pairing(self) -> Pairing:
        return worked(
            self.benign, self.attacked, self.baseline, groups=self.groups, tags=self.tags, weighting=self.weighting
        )

    def with_attacked(self, attacked: dict[str, dict[str, str]]) -> Pair:
        return replace(self, attacked=attacked)


@st.composite
def pairs(
    draw: st.DrawFn,
    *,
    most_tasks: int = 6,
    fewest_tasks: int = 1,
    most_injections: int = 4,
    clean: list[str] | None = None,
    hit: list[str] | None = None,
) -> Pair:
    """One to three groups; tasks meet one or more injections of their group; one to three epochs, more benign ones."""
    clean, hit = clean or CLEAN, hit or HIT
    group_count = draw(st.integers(1, 3))
    tasks = [f"t{code:02d}" for code in range(draw(st.integers(fewest_tasks, most_tasks)))]
    groups = {task: f"g{code % group_count}" for code, task in enumerate(tasks)}
    epochs = draw(st.integers(1, 3))
    benign_epochs = epochs + draw(st.integers(0, 2))
    baseline_epochs = draw(st.integers(1, 3))

    def words(count: int, among: list[str]) -> str:
        return " ".join(draw(st.lists(st.sampled_from(among), min_size=count, max_size=count)))

    met = {
        task: [
            f"{groups[task]}-i{code:02d}" for code in range(draw(st.integers(1, most_injections)))
        ]
        for task in tasks
    }
    return Pair(
        benign={task: words(benign_epochs, clean) for task in tasks},
        attacked={task: {injection: words(epochs, hit) for injection in met[task]} for task in tasks},
        baseline={task: {injection: words(baseline_epochs, BASE) for injection in met[task]} for task in tasks}
        if draw(st.booleans())
        else None,
        groups=groups,
        tags={task: draw(st.lists(st.sampled_from(TAGS), unique=True)) for task in tasks},
        weighting=draw(st.sampled_from(["task", "cell", "group"])),
    )
