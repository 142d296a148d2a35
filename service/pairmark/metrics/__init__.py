"""The metrics, one file each, and the registry that computes them all."""
