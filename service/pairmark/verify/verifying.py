"""What verifying a certificate means. Every block below carries the number of the sentence it makes true.

1. shape: the bundle is in RFC 8785 form, byte for byte; base64 is canonical; no key is unknown; entries and receipts can be read.
2. signature: the trust root is the pinned one, or follows from it; enough distinct keys of role certifier signed the certificate
   and the SVR statement beside it, nobody else did, and each may sign for the certificate's place in the log.
3. inclusion: the log entry names this envelope, and its proof leads to a checkpoint that the log's own key signed.
4. statement: the certificate's parts belong together, write the report of the stated digest, agree with the log entry, and the
   SVR statement says the same; with the log, the announced and unfinished runs that it counts are counted again.
5. artifacts: manifest, runs and ledgers at hand are the certificate's subjects; single shown rows are rows of its ledgers.
6. numbers: every released number, computed again from the ledgers, is the same.
7. policy: the policy is the one named by digest, and its rules, run again, find the same.
8. status: with the whole log, which names no other and no newer trust root, nothing that revokes or supersedes the certificate is
   hidden; without it, only what stands in the bundle is known, and that nothing else exists is not checked.
9. history: the log and the trust root continue what this verifier saw last.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pairmark.domain.errors import Malformed
from pairmark.provenance import dsse
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.entries import ReleasedEntry
from pairmark.provenance.registrations import count_registered
from pairmark.provenance.shown_rows import shown_rows
from pairmark.provenance.statement import Statement, read_statement
from pairmark.provenance.svr import svr_bytes
from pairmark.provenance.trust import parse_trust
from pairmark.verify.at_hand import REFUSE, AtHand, Said, Unchecked, signed
from pairmark.verify.heads import proven_head
from pairmark.verify.memory import Memory
from pairmark.verify.result import STEPS, Step, StepName, Verification
from pairmark.verify.standing import history, status


def verify_bundle(
    data: bytes,
    *,
    trust: bytes | None = None,
    root_digest: str | None = None,
    artifacts: Path | None = None,
    log: bytes | None = None,
    rows: bytes | None = None,
    remembered: Memory | None = None,
) -> Verification:
    """Verify the bytes of a `certificate.json`. Whatever the bytes are, the answer is steps, never an exception.

    Args:
        data: the bundle.
        trust: bytes of the pinned `trust.json`.
        root_digest: digest of the first trust root, where that is what was pinned.
        artifacts: folder with `suite.json`, `benign/`, `attacked/`, `baseline/`, and `policy.json` if the policy is not shipped.
        log: bytes of `log.jsonl`, the whole exported log.
        rows: bytes of a proof that shows single rows (`pairmark prove`).
        remembered: what this verifier saw last.
    """
    at = AtHand(data, trust, root_digest, artifacts, log, rows, Memory() if remembered is None else remembered)
    blocks: dict[StepName, Callable[[AtHand], Said]] = {
        "shape": _shape,
        "signature": _signature,
        "inclusion": _inclusion,
        "statement": _statement,
        "artifacts": _artifacts,
        "numbers": _numbers,
        "policy": _policy,
        "status": status,
        "history": history,
    }
    steps = tuple(Step(name, *_said(at, blocks[name])) for name in STEPS)
    failed = any(step.outcome == "FAIL" for step in steps)
    serial = None if at.statement is None else at.statement.predicate.serial
    return Verification(steps, serial, at.standing, None if failed else at.memory, tuple(at.shown))


def _said(at: AtHand, block: Callable[[AtHand], Said]) -> Said:
    try:
        outcome, message = block(at)
    except Malformed as problem:
        outcome, message = "FAIL", str(problem)
    except Unchecked as reason:
        outcome, message = "NOT_CHECKED", str(reason)
    return outcome, message


def _shape(at: AtHand) -> Said:
    # 1. shape
    at.bundle = parse_bundle(at.data)
    return "PASS", f"{len(at.data)} bytes in canonical form"


def _signature(at: AtHand) -> Said:
    # 2. signature
    if at.trust_data is not None:
        at.chain = parse_trust(at.trust_data, pinned=at.root_digest)
    bundle, trust = at.whole_bundle(), at.trust()
    index = bundle.certificate.parsed_receipt.index
    names = signed(bundle.certificate.envelope, trust, "certifier", index)
    signed(bundle.svr, trust, "certifier", index)
    by = ", ".join(name[:16] for name in names)
    return "PASS", f"signed by certifier {by}, under version {trust.version} of the trust root of {trust.origin}"


def _inclusion(at: AtHand) -> Said:
    # 3. inclusion
    certificate = at.whole_bundle().certificate
    entry = certificate.parsed_entry
    if not isinstance(entry, ReleasedEntry):
        raise Malformed("wrong-entry", f"expected the log entry of a certificate, found one of kind {entry.kind}", remedy=REFUSE)
    if entry.body.envelope != certificate.envelope_digest:
        raise Malformed(
            "wrong-entry", f"expected a log entry that names the envelope {certificate.envelope_digest}, found {entry.body.envelope}",
            remedy=REFUSE,
        )
    at.head = proven_head(certificate, at.trust())
    return "PASS", f"entry {certificate.parsed_receipt.index} of the log of {at.head.size} entries"


def _statement(at: AtHand) -> Said:
    # 4. statement
    bundle = at.whole_bundle()
    found = read_statement(bundle.certificate.envelope.payload)
    entry, predicate = bundle.certificate.parsed_entry, found.predicate
    index = bundle.certificate.parsed_receipt.index
    if not isinstance(entry, ReleasedEntry) or (entry.body.certificate, entry.body.suite) != (predicate.serial, predicate.suite.digest):
        raise Malformed("contradiction", "expected a log entry of this certificate and suite, found another", remedy=REFUSE)
    if predicate.registrations.up_to > index:
        raise Malformed(
            "contradiction", f"expected registrations counted before log index {index}, found {predicate.registrations.up_to} entries",
            remedy=REFUSE,
        )
    if bundle.svr.payload_type != dsse.IN_TOTO or bundle.svr.payload != svr_bytes(found):
        raise Malformed("contradiction", "expected an SVR statement that follows from the certificate, found another", remedy=REFUSE)
    recounted = _recounted(at, found)
    at.statement = found
    return "PASS", f"certificate {predicate.serial}, {predicate.suite.name}, {predicate.policy.name}/{predicate.policy.version}{recounted}"


def _recounted(at: AtHand, statement: Statement) -> str:
    """Count the announced runs again, where the log is at hand and reaches that far; what is wrong with the log is step 8's to say."""
    try:
        log = at.log()
    except (Malformed, Unchecked):
        return ""
    said, predicate = statement.predicate.registrations, statement.predicate
    if log is None or log.head.size < said.up_to:
        return ""
    entries = [logged.entry for logged in log.replay.entries[: said.up_to]]
    for role, counted in (("benign", said.benign), ("attacked", said.attacked), ("attacked", said.baseline)):
        if counted is None:
            continue
        again = count_registered(entries, predicate.suite.digest, counted, role)
        if again != counted:
            raise Malformed(
                "contradiction", f"expected {counted.announced} announced and {counted.unfinished} unfinished runs of {counted.system} as "
                f"stated, found {again.announced} and {again.unfinished} in the log", remedy=REFUSE,
            )
    exactly = "" if said.attacked.of is not None else ", as far as their system was named then"
    return f"; announced runs counted again over {said.up_to} entries{exactly}"


def _artifacts(at: AtHand) -> Said:
    # 5. artifacts
    statement = at.whole_statement()
    if at.rows_data is not None:
        at.shown.extend(shown_rows(at.rows_data, statement, at.whole_bundle().certificate.envelope_digest))
    rows = f"{len(at.shown)} shown rows are in their ledgers" if at.shown else ""
    if at.artifacts is None:
        raise Unchecked(f"{rows}; the ledgers themselves were not given (--artifacts)" if rows else "no artifacts were given (--artifacts)")
    from pairmark.verify.material import read_experiment

    at.experiment = read_experiment(at.artifacts, statement.predicate)
    count = sum(arm.ledger.count for arm in statement.predicate.arms.given().values())
    return "PASS", f"the manifest and {len(at.experiment.arms)} runs with {count} episodes{rows and '; '}{rows}"


def _numbers(at: AtHand) -> Said:
    # 6. numbers
    statement = at.whole_statement()
    if at.experiment is None or at.artifacts is None:
        raise Unchecked("the ledgers are not at hand")
    from pairmark.verify.material import compare_numbers, judged_again, policy_at_hand

    at.policy = policy_at_hand(at.artifacts, statement.predicate)
    if at.policy is not None:
        at.checked = judged_again(at.experiment, at.policy, statement.predicate)
    return "PASS", compare_numbers(at.experiment, at.checked, statement)


def _policy(at: AtHand) -> Said:
    # 7. policy
    statement = at.whole_statement()
    if at.experiment is None:
        raise Unchecked("the ledgers are not at hand")
    if at.policy is None or at.checked is None:
        said = statement.predicate.policy
        raise Unchecked(f"policy {said.name}/{said.version} with digest {said.digest} is not at hand")
    from pairmark.verify.material import compare_findings

    return "PASS", compare_findings(at.checked, statement)
