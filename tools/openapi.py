"""The OpenAPI document as a file, and its examples: `python tools/openapi.py --write | --check | --examples`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from pairmark.http.app import create_app, let_go
from pairmark.http.examples import FILE
from pairmark.http.settings import Settings

TARGET = Path(__file__).resolve().parents[1] / "schemas" / "openapi.json"


def document() -> dict[str, Any]:
    """What the service says of itself; the version is the interface's, since the package's changes with every release."""
    with tempfile.TemporaryDirectory(prefix="pairmark-") as folder:
        app = create_app(Settings(data_dir=Path(folder)))
        try:
            found = app.openapi()
        finally:
            let_go(app)
    return {**found, "info": {**found["info"], "version": "v1"}}


def content() -> bytes:
    """The file: keys sorted, two spaces, a newline at the end."""
    return (json.dumps(document(), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def record_examples() -> None:
    """Tell the story to a service, and keep what was said."""
    from openapi_story import tell

    with tempfile.TemporaryDirectory(prefix="pairmark-") as folder:
        told = tell(Path(folder))
    FILE.write_text(json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {FILE.name}")


def main(arguments: list[str]) -> int:
    """Exit 0 when written or equal, 1 when `--check` finds a difference, 2 on wrong usage."""
    if arguments == ["--examples"]:
        record_examples()
        return 0
    if arguments not in (["--write"], ["--check"]):
        print("usage: python tools/openapi.py --write | --check | --examples", file=sys.stderr)
        return 2
    made = content()
    same = TARGET.is_file() and TARGET.read_bytes() == made
    if arguments == ["--check"] and not same:
        print(f"{TARGET.name}: differs from what the service says of itself; write it with `make schemas`", file=sys.stderr)
        return 1
    if not same:
        TARGET.write_bytes(made)
        print(f"wrote {TARGET.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
