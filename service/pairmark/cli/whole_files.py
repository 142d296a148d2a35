"""Files that appear whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, pieces: Iterable[bytes]) -> int:
    """Write pieces to a file that takes its name when all are there; how many there were."""
    count = 0
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as out:
        scratch = Path(out.name)
        try:
            for piece in pieces:
                out.write(piece)
                count += 1
            out.flush()
            scratch.chmod(0o644)
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    return count
