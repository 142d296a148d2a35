"""A pair as the command line names it: a suite file, two or three bundles and a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.harness_input import ROLES, HarnessOptions, find_reader, is_bundle, read_arm

if TYPE_CHECKING:
    from pairmark.adapters.ledgers.bundle import LoadedPolicy, LoadedSuite
    from pairmark.domain.evidence import Arm, Experiment, Role
    from pairmark.importers.base import Imported

SuiteFile = Annotated[Path, typer.Option("--suite", metavar="FILE", help="Suite manifest (JSON).")]
BenignRun = Annotated[
    list[Path],
    typer.Option(
        "--benign",
        metavar="PATH",
        help="Run without attacks: a bundle (a directory or a .tar.gz of one), or the harness' own folder or log."
        " Give it again for more files of the same run.",
    ),
]
AttackedRun = Annotated[list[Path], typer.Option("--attacked", metavar="PATH", help="Run under attack.")]
BaselineRun = Annotated[
    list[Path] | None,
    typer.Option(
        "--baseline",
        metavar="PATH",
        help="Undefended run under the same attack. Leave it out when the pair itself has no defense.",
    ),
]
PolicyName = Annotated[
    str, typer.Option("--policy", metavar="NAME/VERSION|FILE", help="What must hold for `certified`.")
]
DEFAULT_POLICY = "standard/1"


@dataclass(frozen=True)
class Pair:
    """What was named, read and found well-formed. `imported`: the arms that were read from a harness' own files."""

    suite: LoadedSuite
    policy: LoadedPolicy
    experiment: Experiment
    imported: dict[Role, Imported] = field(default_factory=dict)


def read_pair(
    suite: Path,
    benign: Path | Sequence[Path],
    attacked: Path | Sequence[Path],
    baseline: Path | Sequence[Path] | None,
    policy: str,
    options: HarnessOptions | None = None,
) -> Pair:
    """Read everything a verdict is taken over. What is no bundle is imported in memory, and judged as its bundle would be.

    Raises:
        Malformed: at the first thing that cannot be read.
    """
    from pairmark.adapters.ledgers.bundle import read_bundle, read_policy, read_suite, sealed_arm
    from pairmark.app.one_system import refuse_two_systems
    from pairmark.app.same_rows import refuse_same_rows
    from pairmark.domain.evidence import Experiment

    loaded_policy = read_policy(policy)
    loaded_suite = read_suite(suite)
    imported: dict[Role, Imported] = {}

    given_as = {"benign": benign, "attacked": attacked, "baseline": baseline}
    roles: list[Role] = [role for role in ROLES if given_as[role]]
    (options or HarnessOptions()).check_used([role for role in roles if is_bundle(_paths(given_as[role]))], roles)

    def read(given: Path | Sequence[Path], role: Role) -> Arm:
        paths = _paths(given)
        beside = (options or HarnessOptions()).of(role)
        if is_bundle(paths):
            return read_bundle(paths[0], role)
        importer = find_reader(paths, beside.harness, beside.mapping)
        imported[role] = found = read_arm(importer, paths, role, beside, loaded_suite.manifest, loaded_suite.digest)
        return sealed_arm(found.run, found.episodes, role, file=str(paths[0]))

    arms = (
        read(benign, "benign"),
        read(attacked, "attacked"),
        read(baseline, "baseline") if baseline else None,
    )
    for role, found in imported.items():
        if role != "benign" and "benign" in imported:
            refuse_same_rows(imported["benign"], found, role=role)
    if "benign" in imported and "attacked" in imported:
        refuse_two_systems(imported["benign"], imported["attacked"])
    experiment = Experiment(loaded_suite.manifest, loaded_suite.digest, *arms)
    return Pair(loaded_suite, loaded_policy, experiment, imported)


def _paths(given: Path | Sequence[Path] | None) -> list[Path]:
    return [given] if isinstance(given, Path) else list(given or ())
