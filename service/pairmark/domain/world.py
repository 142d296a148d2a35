"""A synthetic experiment with known truth, and one-line faults: what rule examples, docs and tests are built on."""
