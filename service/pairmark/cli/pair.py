"""A pair as the command line names it: a suite file, two or three bundles and a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pairmark.adapters.ledgers.bundle import LoadedPolicy, LoadedSuite
    from pairmark.domain.evidence import Experiment

SuiteFile = Annotated[Path, typer.Option("--suite", metavar="FILE", help="Suite manifest (JSON).")]
BenignBundle = Annotated[
    Path, typer.Option("--benign", metavar="BUNDLE", help="Run without attacks: a directory or a .tar.gz of one.")
]
AttackedBundle = Annotated[Path, typer.Option("--attacked", metavar="BUNDLE", help="Run under attack.")]
BaselineBundle = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="BUNDLE",
        help="Undefended run under the same attack. Leave it out when the pair itself has no defense.",
    ),
]
PolicyName = Annotated[
    str, typer.Option("--policy", metavar="NAME/VERSION|FILE", help="What must hold for `certified`.")
]
DEFAULT_POLICY = "standard/1"


@dataclass(frozen=True)
class Pair:
    """What was named, read and found well-formed."""

    suite: LoadedSuite
    policy: LoadedPolicy
    experiment: Experiment


def read_pair(suite: Path, benign: Path, attacked: Path, baseline: Path | None, policy: str) -> Pair:
    """Read everything a verdict is taken over.

    Raises:
        Malformed: at the first thing that cannot be read.
    """
    from pairmark.adapters.ledgers.bundle import read_bundle, read_policy, read_suite
    from pairmark.domain.evidence import Experiment

    loaded_policy = read_policy(policy)
    loaded_suite = read_suite(suite)
    experiment = Experiment(
        loaded_suite.manifest,
        loaded_suite.digest,
        read_bundle(benign, "benign"),
        read_bundle(attacked, "attacked"),
        None if baseline is None else read_bundle(baseline, "baseline"),
    )
    return Pair(loaded_suite, loaded_policy, experiment)
