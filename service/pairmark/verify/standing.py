"""Steps 8 and 9: what became of the certificate, and whether the log continues what was seen before."""

from __future__ import annotations

from collections.abc import Iterator

from pairmark.domain.canonical import DIGEST_PREFIX, digest_of_bytes
from pairmark.domain.errors import Malformed
from pairmark.provenance import dsse
from pairmark.provenance.bundle import Bundle
from pairmark.provenance.entries import Entry, ReleasedEntry, StatusEntry, TrustEntry
from pairmark.provenance.status import fold
from pairmark.provenance.status_statement import read_status
from pairmark.provenance.trust import TrustChain, TrustRoot
from pairmark.verify.at_hand import REFUSE, AtHand, Said, Unchecked, signed
from pairmark.verify.heads import WholeLog, proven_head
from pairmark.verify.memory import Seen


def status(at: AtHand) -> Said:
    """Fold what is known of the certificate."""
    # 8. status
    bundle, trust, statement = at.whole_bundle(), at.trust(), at.whole_statement()
    serial, index = statement.predicate.serial, bundle.certificate.parsed_receipt.index
    beside = list(_beside(bundle, trust, serial, index))
    log = at.log()
    if log is None:
        if not beside:
            raise Unchecked("whether it was revoked since cannot be known without the whole log (--log)")
        at.standing = fold([(index, bundle.certificate.parsed_entry), *beside])[serial]
        return "PASS", f"{at.standing.status}, by what stands in the bundle"
    _holds(log, [(index, bundle.certificate.parsed_entry), *beside])
    later = [item for item in beside if item[0] >= log.head.size]
    standing = fold([*_about(log, trust, serial, bundle.certificate.envelope_digest), *later]).get(serial)
    short = _too_short(at, log, index) or _trust_behind(at.trust_chain(), log)
    if standing is None or (standing.status == "valid" and short is not None):
        raise Unchecked(short or f"the log has no release of certificate {serial}")
    at.standing = standing
    return "PASS", f"{standing.status} in the whole log of {log.head.size} entries, replayed"


def _beside(bundle: Bundle, trust: TrustRoot, serial: str, index: int) -> Iterator[tuple[int, Entry]]:
    """The status changes in the bundle, each signed, included, about this certificate, and after it."""
    last = index
    for logged in bundle.statuses:
        entry = logged.parsed_entry
        place = logged.parsed_receipt.index
        if not isinstance(entry, StatusEntry) or place <= last:
            raise Malformed("wrong-status", "expected status changes after the certificate, in log order; found another entry", remedy=REFUSE)
        _check_change(entry, logged.envelope, trust, place, serial, bundle.certificate.envelope_digest)
        proven_head(logged, trust)
        last = place
        yield place, entry


def _check_change(
    entry: StatusEntry, envelope: dsse.Envelope, trust: TrustRoot, index: int, serial: str, certificate: str
) -> None:
    signed(envelope, trust, "revoker", index)
    said = read_status(envelope.payload)
    if digest_of_bytes(envelope.content()) != entry.body.envelope or not said.matches(entry.body):
        raise Malformed("wrong-status", "expected a status entry that says what its statement says, found another", remedy=REFUSE)
    if said.envelopes.get(serial) != certificate:
        raise Malformed("wrong-status", f"expected a status change of certificate {serial}, found one of others", remedy=REFUSE)


def _holds(log: WholeLog, items: list[tuple[int, Entry]]) -> None:
    """What the bundle shows stands in the log at the same place, as far as the log goes."""
    for place, entry in items:
        if place < log.head.size and log.replay.entries[place].entry != entry:
            raise Malformed("wrong-log", f"expected the bundle's entry at log index {place}, found another", remedy=REFUSE)


def _too_short(at: AtHand, log: WholeLog, index: int) -> str | None:
    """Why the log says too little to call the certificate valid, if it does."""
    size = log.head.size
    if size <= index:
        return f"stale: the log ends at {size} entries, before the certificate's index {index}"
    if at.head is not None and size < at.head.size:
        return f"stale: the log has {size} entries, the receipt's tree {at.head.size}"
    seen = at.remembered.logs.get(log.head.origin)
    if seen is not None and size < seen.size:
        return f"stale: the log has {size} entries, this verifier saw {seen.size} before"
    return None


def _trust_behind(chain: TrustChain, log: WholeLog) -> str | None:
    """Why the trust root says too little: the log names a newer one, in which a key may have been revoked.

    Raises:
        Malformed: the log names another trust root of a version that the chain has.
    """
    newest = len(chain.envelopes)
    for logged in log.replay.entries:
        if not isinstance(logged.entry, TrustEntry):
            continue
        body = logged.entry.body
        if body.version <= len(chain.envelopes) and digest_of_bytes(chain.envelopes[body.version - 1].content()) != body.envelope:
            raise Malformed(
                "forked-trust", f"expected version {body.version} of the trust root as log index {logged.index} names it, found another",
                remedy="get trust.json from its operator",
            )
        newest = max(newest, body.version)
    if newest > len(chain.envelopes):
        return f"stale: the log names version {newest} of the trust root, the one given ends with {len(chain.envelopes)}"
    return None


def _about(log: WholeLog, trust: TrustRoot, serial: str, certificate: str) -> Iterator[tuple[int, Entry]]:
    """Entries of the log about the certificate; each status change among them is signed by a revoker."""
    for logged in log.replay.entries:
        entry = logged.entry
        if isinstance(entry, ReleasedEntry) and entry.body.certificate == serial:
            yield logged.index, entry
        elif isinstance(entry, StatusEntry) and serial in entry.body.certificates:
            envelope = dsse.parse_envelope(logged.envelope or b"")
            _check_change(entry, envelope, trust, logged.index, serial, certificate)
            yield logged.index, entry


def history(at: AtHand) -> Said:
    """Compare with what was seen before, and say what to remember."""
    # 9. history
    chain, head = at.trust_chain(), at.head
    if head is None:
        raise Unchecked("no checkpoint that can be trusted")
    try:
        log = at.log()
    except Malformed:
        raise Unchecked("the log cannot be relied on") from None
    if log is not None and head.size <= log.head.size and log.root_at(head.size) != head.root:
        raise _forked(head.size, "the receipt has")
    newest = head if log is None or log.head.size < head.size else log.head
    origin, newer = chain.current.origin, digest_of_bytes(chain.envelopes[-1].payload)
    here = Seen(
        size=newest.size, root=_named(newest.root), trust_root=chain.root_digest, trust_version=chain.current.version, trust_digest=newer
    )
    seen = at.remembered.logs.get(origin)
    if seen is None:
        at.memory = at.remembered.with_seen(origin, here)
        raise Unchecked("nothing was seen of this log before (--state)")
    _trust_continues(chain, seen)
    known = {newest.size: newest.root, head.size: head.root}
    if log is not None and log.head.size >= seen.size:
        known[seen.size] = log.root_at(seen.size)
    if seen.size not in known:
        raise Unchecked(f"this verifier saw {seen.size} entries; only the whole log shows that it continues them (--log)")
    if _named(known[seen.size]) != seen.root:
        raise _forked(seen.size, "this verifier saw")
    at.memory = at.remembered.with_seen(origin, here if newest.size >= seen.size else seen)
    return "PASS", f"continues the tree of {seen.size} entries that this verifier saw"


def _forked(size: int, whose: str) -> Malformed:
    return Malformed(
        "forked-log", f"expected the log to continue the tree of {size} entries that {whose}, found another past",
        remedy="report it: two histories were signed",
    )


def _named(root: bytes) -> str:
    return f"{DIGEST_PREFIX}{root.hex()}"


def _trust_continues(chain: TrustChain, seen: Seen) -> None:
    version = chain.current.version
    if chain.root_digest != seen.trust_root:
        raise Malformed("wrong-root", f"expected the trust root {seen.trust_root} that this verifier saw, found {chain.root_digest}", remedy=REFUSE)
    if version < seen.trust_version:
        raise Malformed(
            "rolled-back-trust", f"expected version {seen.trust_version} of the trust root or a later one, as this verifier saw; found {version}",
            remedy="get the newest trust.json",
        )
    if digest_of_bytes(chain.envelopes[seen.trust_version - 1].payload) != seen.trust_digest:
        raise Malformed(
            "forked-trust", f"expected version {seen.trust_version} of the trust root as this verifier saw it, found another", remedy=REFUSE
        )
