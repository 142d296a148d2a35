"""What is at hand for a verification, what was found so far, and the refusal to claim what could not be checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairmark.domain.errors import Malformed
from pairmark.provenance import dsse
from pairmark.provenance.bundle import Bundle
from pairmark.provenance.checkpoint import Checkpoint
from pairmark.provenance.statement import Statement
from pairmark.provenance.status import Standing
from pairmark.provenance.trust import RoleName, TrustChain, TrustRoot
from pairmark.verify.heads import WholeLog, read_log
from pairmark.verify.memory import Memory
from pairmark.verify.result import Outcome

if TYPE_CHECKING:
    from pairmark.adapters.ledgers.documents import LoadedPolicy
    from pairmark.app.check import CheckedPair
    from pairmark.domain.evidence import Experiment

Said = tuple[Outcome, str]
REFUSE = "do not trust it"


class Unchecked(Exception):
    """A step that could not be checked, and why."""


@dataclass
class AtHand:
    """What was given (the first seven), and what the steps found."""

    data: bytes
    trust_data: bytes | None
    root_digest: str | None
    artifacts: Path | None
    log_data: bytes | None
    rows_data: bytes | None
    remembered: Memory
    bundle: Bundle | None = None
    chain: TrustChain | None = None
    statement: Statement | None = None
    head: Checkpoint | None = None
    experiment: Experiment | None = None
    policy: LoadedPolicy | None = None
    checked: CheckedPair | None = None
    standing: Standing | None = None
    memory: Memory | None = None
    shown: list[dict[str, Any]] = field(default_factory=list)

    def whole_bundle(self) -> Bundle:
        """The bundle, where it could be read."""
        if self.bundle is None:
            raise Unchecked("the bundle cannot be read")
        return self.bundle

    def trust_chain(self) -> TrustChain:
        """The chain of trust roots, where one was given and holds."""
        if self.trust_data is None:
            raise Unchecked("no trust root was given (--trust)")
        if self.chain is None:
            raise Unchecked("the trust root does not hold")
        return self.chain

    def trust(self) -> TrustRoot:
        """The newest trust root."""
        return self.trust_chain().current

    def whole_statement(self) -> Statement:
        """The statement, where it holds together."""
        if self.statement is None:
            raise Unchecked("the statement cannot be relied on")
        return self.statement

    @cached_property
    def _read(self) -> WholeLog | Malformed:
        assert self.log_data is not None
        try:
            return read_log(self.log_data, self.trust())
        except Malformed as problem:
            return problem

    def log(self) -> WholeLog | None:
        """The whole log, if one was given; it is read once.

        Raises:
            Malformed: it does not hold.
            Unchecked: there is no trust root to read it under.
        """
        if self.log_data is None:
            return None
        self.trust()
        if isinstance(self._read, Malformed):
            raise self._read
        return self._read


def signed(envelope: dsse.Envelope, trust: TrustRoot, role: RoleName, index: int) -> tuple[str, ...]:
    """Key ids of a role that signed, each of which may sign for the index.

    Raises:
        Malformed: somebody else signed, a signature does not hold, or too few did.
    """
    allowed, ever = trust.keys_of(role, index), trust.keys_of(role)
    for keyid, _ in envelope.signatures:
        if keyid in ever and keyid not in allowed:
            key = trust.keys[keyid]
            until = "on" if key.valid_until is None else f"to {key.valid_until} (not included)"
            raise Malformed(
                "key-window", f"expected a signature of a {role} key that may sign for log index {index}, found one for {key.valid_from} {until}",
                remedy="do not trust this document",
            )
    return dsse.verify(envelope, dsse.IN_TOTO, allowed, trust.role(role).threshold)
