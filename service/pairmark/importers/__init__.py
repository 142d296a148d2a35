"""Importers: from a harness' own files to a run document and an episode ledger. Pure: they read files and nothing else.

An importer is a direct submodule with a module-level `IMPORTER` (see `base.Importer`); adding one touches nothing else.
"""
