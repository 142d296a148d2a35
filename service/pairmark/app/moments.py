"""Times as they are stored and shown: UTC, microseconds, fixed width, so that text order is time order."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(time: datetime) -> str:
    """`2026-01-22T07:00:00.000000+00:00`; `time` must carry an offset."""
    if time.tzinfo is None:
        raise ValueError("expected a time with an offset")
    return time.astimezone(UTC).isoformat(timespec="microseconds")
