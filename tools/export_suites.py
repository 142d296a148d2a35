#!/usr/bin/env python3
"""Writes manifests/suites/: AgentDojo's suites as the installed package has them, each with its null-agent and canary probes.

usage: export_suites.py [FOLDER]     (needs the extra `agentdojo`; about half a minute)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pairmark.adapters.agentdojo import export_suite

SUITES = ("banking", "slack", "travel", "workspace")
VERSIONS = ("v1.1.2", "v1.2.2")
FOLDER = Path(__file__).resolve().parent.parent / "manifests" / "suites"


def text_of(manifest: dict[str, Any]) -> str:
    """The file's text: keys as the design writes them, one line for each task, injection and tool."""
    lines = []
    for key, value in manifest.items():
        if isinstance(value, list):
            rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in value)
            lines.append(f' "{key}": [\n{rows}\n ]')
        else:
            lines.append(f' "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def file_name(suite: str, version: str) -> str:
    """Name of a shipped manifest."""
    return f"agentdojo-{suite}-{version}.json"


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for version in VERSIONS:
        for suite in SUITES:
            path = folder / file_name(suite, version)
            path.write_text(text_of(export_suite(version, [suite])), encoding="utf-8")
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
