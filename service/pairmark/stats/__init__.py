"""Statistics of paired injection experiments: pure functions of arrays and fractions.

Nothing here knows a document, a file, a clock or a random source. numpy is imported with the modules, scipy only
inside the functions that need it. Where a reader should start:

* `crossing` - which cell belongs to which task, injection and group, and the weights of the cells
* `exact` - weighted means as exact fractions, and their six-place decimals
* `variance`, `intervals`, `scope` - how far a number can be off, and when nobody can say
* `conditional` - ratios over a subset of the episodes
* `hypothesis_tests` (on `block_tails` and `tilted_tails`), `maxt` - p-values
* `fourfold`, `paired_intervals` - two outcomes of the same episodes
* `reweighting`, `planning`, `crossed_design` - other mixes, and experiments not yet run

All intervals are two-sided 95 %.
"""
