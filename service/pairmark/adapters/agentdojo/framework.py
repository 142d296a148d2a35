"""The part of agentdojo that no digest covers: how tasks are run, checked and loaded. It has to be the known one."""

from __future__ import annotations

import importlib
from functools import cache

from pairmark.adapters.agentdojo.source import module_text
from pairmark.domain.canonical import digest_of_bytes

KNOWN = {
    "agentdojo.base_tasks": "sha256:9d917809ed901b18b1d94fc2a2aead854a922fc5bdc243f0175da99d78e61519",
    "agentdojo.functions_runtime": "sha256:2d71f8595d0dedc18841af851d512468034ea14ab5324d26eb92475f7e47df2d",
    "agentdojo.task_suite.task_suite": "sha256:a315d14e1c8da0bcd2a62e499517044fbf3b5a1982050fba6f699e40bc027a1b",
    "agentdojo.yaml_loader": "sha256:32a4dfeb297b44fa3b796908eab3662aa0bc079504b4898e7912bd76143138df",
}
"""Modules of agentdojo 0.1.35 by the digest of their source. A task's own check is covered by its checker digest; what
calls it is not, so that a package in which this differs would give other outcomes under equal digests."""


@cache
def changed_modules() -> tuple[str, ...]:
    """Names of the framework's modules whose source is not the known one."""
    return tuple(
        name
        for name, digest in KNOWN.items()
        if digest_of_bytes(module_text(importlib.import_module(name)).encode()) != digest
    )
