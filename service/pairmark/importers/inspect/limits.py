"""How much of a log is taken before it is refused. Every limit is here, and every refusal names it."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.domain.errors import Malformed

MIB = 2**20

MAX_PAYLOADS = 256
"""Injected texts that are looked for in a sample; with more it is unknown whether they were delivered."""
MAX_PAYLOAD_CHARACTERS = MIB
"""Characters of all injected texts of a sample together; with more it is unknown whether they were delivered."""
MAX_SEARCH = 256 * MIB
"""What a sample's search may take, as injected texts times characters that the model was given; beyond it delivery is unknown."""


@dataclass(frozen=True)
class LogLimits:
    """Bounds on one log.

    Attributes:
        sample: bytes of one sample's JSON, expanded; a sample beyond it is unreadable, the others are read.
        header: bytes of everything else that is parsed at once, expanded.
        log: bytes of the whole log, expanded.
        members: entries of an `.eval` archive, and samples of a `.json` log.
        batch: bytes of samples that are parsed together; memory grows with this and with the largest sample.
        batch_samples: samples that are parsed together.
        payloads, payload, search: `MAX_PAYLOADS`, `MAX_PAYLOAD_CHARACTERS`, `MAX_SEARCH`.
    """

    sample: int = 64 * MIB
    header: int = 64 * MIB
    log: int = 64 * 1024 * MIB
    members: int = 1_000_000
    batch: int = 8 * MIB
    batch_samples: int = 64
    payloads: int = MAX_PAYLOADS
    payload: int = MAX_PAYLOAD_CHARACTERS
    search: int = MAX_SEARCH


LIMITS = LogLimits()


def too_large(what: str, limit: int, file: str, unit: str = "bytes") -> Malformed:
    """The refusal of a log larger than `LogLimits.<what>`."""
    return Malformed(
        "too-large",
        f"expected at most {limit} {unit} (limit `{what}`), found more",
        file,
        remedy="split the evaluation into several logs; they are read as parts of one run",
    )
