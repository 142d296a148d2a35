"""Inspect as a test may run it: no display, no files outside the test's folder, and warnings of its own that are no errors."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch


@contextmanager
def quiet() -> Iterator[None]:
    """For as long as it is open, Inspect keeps its data and traces in a folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="pairmark-inspect-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = str(Path(folder) / "trace.log")
        own = {"XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder, "INSPECT_TRACE_FILE": trace, "INSPECT_DISPLAY": "none"}
        with patch.dict(os.environ, own):
            yield
