"""The rules, one file each, and the engine that runs them all."""
