"""Use cases: one function per verb, over ports."""
