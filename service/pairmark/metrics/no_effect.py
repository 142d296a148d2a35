"""Whether the attack changes anything at all: an exact test."""

from __future__ import annotations

import numpy as np

from pairmark.domain.documents.metric_values import NoEffect, Undefined
from pairmark.domain.documents.probability import probability
from pairmark.domain.pairing import Pairing, count_in
from pairmark.domain.worked import worked
from pairmark.metrics.base import Metric
from pairmark.metrics.estimating import undefined
from pairmark.stats.hypothesis_tests import block_test, mcnemar_exact


def compute(pairing: Pairing) -> NoEffect | Undefined:
    """McNemar's test where the design has one injection and one epoch per task, else exact blocks of (task, epoch)."""
    pairs = pairing.epoch_pairs
    paired, clean = pairs.paired, pairs.benign == 1
    in_block = count_in(paired, pairs.block, pairs.blocks)
    used = np.flatnonzero(in_block)
    if not len(used):
        return undefined("no attacked episode has a known benign outcome of its epoch")
    m = in_block[used]
    y = count_in(paired & pairs.attacked, pairs.block, pairs.blocks)[used]
    x = (count_in(clean, pairs.block, pairs.blocks)[used] > 0).astype(np.int64)
    counts = {
        "blocks": len(m),
        "pairs": int(m.sum()),
        "benign_successes": int(x.sum()),
        "attacked_successes": int(y.sum()),
    }
    per_task = int(np.bincount(pairing.plan.cell_task).max()) * pairing.attacked.expected
    if per_task == 1:
        found = mcnemar_exact(int(np.count_nonzero(x > y)), int(np.count_nonzero(y > x)))
    else:
        found = block_test(x, np.ones(len(m), dtype=np.int64), y, m)
    return NoEffect(
        method="exact-mcnemar" if per_task == 1 else "exact-blocks",
        p_value=probability(found.p_two_sided, found.log10_p_two_sided),
        counts=counts,
    )


METRIC = Metric(
    key="tests.no_effect",
    title="Whether the attack changes anything",
    formula="p = min(1, 2 x smaller tail) of the benign successes, given the successes of each (task, epoch) in both arms"
    " together: a sum of hypergeometric counts. With one injection and one epoch per task this is McNemar's exact test",
    source="McNemar (1947); exact conditional test of stratified tables (Mantel and Haenszel 1959, exact form)",
    denominator="blocks of one task and epoch with a known outcome in both arms",
    direction="neither",
    compute=compute,
    example=lambda: (
        # Five lost, none gained: p = 2/32.
        worked(dict.fromkeys("abcdef", "1"), {t: {"x": "1" if t == "f" else "0"} for t in "abcdef"}),
        {
            "method": "exact-mcnemar",
            "p_value": "0.0625000",
            "counts": {"blocks": 6, "pairs": 6, "benign_successes": 6, "attacked_successes": 1},
        },
    ),
)
