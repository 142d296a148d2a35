"""Documents, evidence, pairing and verdicts: pure, no framework, clock, randomness or network."""
