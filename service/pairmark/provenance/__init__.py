"""Signatures, the Merkle log and its notes: pure, no database, clock or network."""
