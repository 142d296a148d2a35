"""Telling addresses outside: signed, bounded, and never into a private network unless the operator allows it."""
