"""The harness' own runner, kept from writing anywhere but below one folder and from saying anything."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def logging_to(folder: Path) -> Iterator[None]:
    """Episodes run inside are logged below `folder`; messages and warnings of the harness are dropped."""
    from agentdojo.logging import OutputLogger

    threshold = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), OutputLogger(str(folder)):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(threshold)
