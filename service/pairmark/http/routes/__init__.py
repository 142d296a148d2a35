"""One file for each resource, with a module-level `router`; adding one touches nothing else."""
