"""Ledgers outside the process: bundles and their strict reading, columnar objects, the object store."""
