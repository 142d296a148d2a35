"""Whether a run's episodes may be read, not only its document."""

from __future__ import annotations

from pairmark.app.errors import NotPermitted
from pairmark.app.ports import Tables


def require_open_episodes(tables: Tables, run_id: str) -> None:
    """Refuse the episodes of a run that was published without them.

    Raises:
        NotPermitted: they are its owner's only.
    """
    if not tables.people.episodes_open(run_id):
        raise NotPermitted(
            "episodes-private", f"expected a run whose episodes are public, found {run_id}, published without them",
            "ask its owner for a proof of single episodes (pairmark prove)",
        )
