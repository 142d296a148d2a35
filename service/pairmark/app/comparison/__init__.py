"""Comparing certified pairs: on the same cells, on common cells, or not at all, and why."""
