"""The pages, one module for what belongs together; each has a `router`."""
