"""What a certified pilot says of the next evaluation."""

from __future__ import annotations

from fractions import Fraction

from pairmark.app.comparison.conditioned import clean_success_counts
from pairmark.app.comparison.pair import CertifiedPair
from pairmark.app.comparison.rates import BENIGN_UTILITY, SampledSide
from pairmark.app.planning.inputs import PilotFacts, PlannedSuite
from pairmark.domain.comparability import crossing_of
from pairmark.domain.errors import Malformed
from pairmark.domain.evidence import Arm
from pairmark.stats.components import estimate_components
from pairmark.stats.conditional import conditional_rate
from pairmark.stats.crossing import cell_weights
from pairmark.stats.planning import design_effect
from pairmark.stats.scope import decide_scope
from pairmark.stats.variance import clustered_variance


def pilot_facts(pair: CertifiedPair) -> PilotFacts:
    """Clean rate, survival on clean success, its design effect, discordance between the arms, components and durations.

    Raises:
        Malformed: nothing was observed in both arms of the pilot.
    """
    plan, pairing, weighting = pair.experiment.plan, pair.pairing, pair.experiment.suite.weighting
    name = pair.certificate or "pilot"
    sample = pairing.sample
    if sample is None:
        raise Malformed(
            "empty-pilot", "expected a pilot with outcomes in both arms, found none", remedy="plan from rates instead"
        )
    counts = clean_success_counts(pairing)
    paired = counts.trials > 0
    on_pairs = crossing_of(plan, paired)
    survival = deff = discordance = None
    if on_pairs is not None:
        rate = conditional_rate(counts.hits[paired], counts.exposed[paired], counts.trials[paired], on_pairs, weighting)
        survival = rate.value
        variance = clustered_variance(
            rate.influence,
            cell_weights(on_pairs, weighting),
            on_pairs,
            sample_injections=decide_scope(on_pairs).samples_injections,
        )
        if survival is not None and rate.contributing_tasks:
            deff = design_effect(variance.value, float(survival), rate.contributing_tasks) or None
        flips = int((counts.exposed + counts.survived - 2 * counts.hits).sum())
        discordance = Fraction(flips, int(counts.trials.sum()))
    return PilotFacts(
        certificate=name,
        suite=PlannedSuite.of(plan, pair.experiment.suite_digest),
        clean_rate=SampledSide(pairing, sample.cells, sample).mean(BENIGN_UTILITY),
        survival=survival,
        deff=deff,
        discordance=discordance,
        components=estimate_components(
            pairing.attacked.successes[sample.cells], pairing.attacked.known[sample.cells], sample.crossing
        ),
        seconds_per_episode=_seconds(pair.experiment.benign, pair.experiment.attacked),
    )


def _seconds(*arms: Arm) -> tuple[float, float] | None:
    """Mean recorded duration of the faster and of the slower arm; None where an arm recorded none."""
    means = [arm.ledger["duration_ms"].mean() for arm in arms]
    known = [float(mean) / 1000 for mean in means if isinstance(mean, int | float)]
    return (min(known), max(known)) if len(known) == len(means) else None
