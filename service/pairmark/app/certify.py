"""Certify a pair: exactly one result per pair, policy, manifest and disproof.

Sealed runs, manifests and policies never change, so what a verdict rests on is read in one transaction, judged in none, and the
result is recorded in a second one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from pairmark.app.check import CheckedPair, check
from pairmark.app.errors import ConflictAt, Place
from pairmark.app.log_records import Signing
from pairmark.app.log_writes import log_disproof
from pairmark.app.moments import moment
from pairmark.app.ports import Certification, Ledgers, NewId, Policies, Seal, StoredRun, Tables
from pairmark.app.read_run import run_of_id
from pairmark.app.read_suite import newest_of_digest
from pairmark.app.release import release
from pairmark.app.stages import At, unwatched
from pairmark.app.stored import stored_document, understood
from pairmark.app.webhooks import tell_verdict
from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes, suite_digest
from pairmark.domain.documents.disproof import DisproofRecord
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from pairmark.domain.evidence import Arm, Experiment, Role
from pairmark.domain.flip_list import flip_list
from pairmark.rules.base import Disproof, QualityGate


@dataclass(frozen=True)
class Claim:
    """What a verdict is asked on. Runs are ids; `policy`, `manifest`, `disproof` digests of documents, `contents` their bytes.

    `instead_of` is a certificate on the same, which a stolen key brought down: a new one is asked for in its place.
    """

    benign: str
    attacked: str
    baseline: str | None
    policy: str
    manifest: str
    disproof: str | None = None
    disproves: str | None = None
    instead_of: str | None = None
    contents: dict[str, bytes] = field(default_factory=dict, compare=False)

    @property
    def subject(self) -> str:
        """Digest of everything that decides the result: two equal claims have one certification."""
        decides = {
            "benign": self.benign, "attacked": self.attacked, "baseline": self.baseline, "policy": self.policy,
            "manifest": self.manifest, "disproof": self.disproof,
        }  # fmt: skip
        return digest_of(decides if self.instead_of is None else {**decides, "instead_of": self.instead_of})


@dataclass(frozen=True, eq=False)
class Evidence:
    """A claim with its documents, and the sealed runs by role."""

    claim: Claim
    suite: SuiteManifest
    suite_digest: str
    policy: Policy
    runs: dict[Role, tuple[StoredRun, Seal, Run]]
    disproof: Disproof | None

    @property
    def episodes(self) -> int:
        """Rows in all ledgers: what the check costs grows with it."""
        return sum(seal.count for _, seal, _ in self.runs.values())


@dataclass(frozen=True, eq=False)
class Judged:
    """Evidence with its report; of a certified pair also the root over each given arm's salted rows."""

    evidence: Evidence
    experiment: Experiment
    checked: CheckedPair
    rows: dict[Role, str]


@dataclass(frozen=True)
class Certified:
    """A certification and its report's bytes; `new` if this call made it."""

    certification: Certification
    report: bytes
    new: bool


def claim_of(
    tables: Tables, policies: Policies, *, benign: str, attacked: str, baseline: str | None, policy: str
) -> Claim:
    """The claim on runs named by id, under a policy named `NAME/VERSION`; the suite is the benign run's.

    Raises:
        NotFound: a run that is not there.
        Conflict: a run that is not sealed.
        Malformed: an unknown policy.
    """
    sealed = {
        role: _sealed(tables, run_id, f"/{role}")
        for role, run_id in (("benign", benign), ("attacked", attacked), ("baseline", baseline))
        if run_id is not None
    }
    try:
        chosen = policies(policy)
    except Malformed as problem:
        raise problem.located(pointer="/policy") from None
    return Claim(
        benign, attacked, baseline, chosen.digest, newest_of_digest(tables, sealed["benign"][0].suite).manifest,
        contents={chosen.digest: canonical_bytes(chosen.value)},
    )


def _sealed(tables: Tables, run_id: str, pointer: str) -> tuple[StoredRun, Seal]:
    run = run_of_id(tables, run_id, pointer)
    if run.seal is None:
        raise ConflictAt(
            "run-not-sealed", f"expected sealed runs, found {run_id} announced", "upload its episodes first: PUT /v1/runs/{id}/episodes",
            (Place(pointer, "this run is not sealed"),),
        )
    return run, run.seal


def evidence_of(tables: Tables, claim: Claim) -> Evidence:
    """The documents behind a claim."""

    def document(digest: str) -> bytes:
        return claim.contents[digest] if digest in claim.contents else stored_document(tables, digest)

    suite, value = understood(SuiteManifest, document(claim.manifest), claim.manifest)
    policy, _ = understood(Policy, document(claim.policy), claim.policy)
    runs: dict[Role, tuple[StoredRun, Seal, Run]] = {}
    roles: tuple[tuple[Role, str | None], ...] = (
        ("benign", claim.benign), ("attacked", claim.attacked), ("baseline", claim.baseline)
    )
    for role, run_id in roles:
        if run_id is not None:
            run, seal = _sealed(tables, run_id, f"/{role}")
            runs[role] = (run, seal, understood(Run, document(seal.document), seal.document)[0])
    disproof = None
    if claim.disproof is not None:
        record, _ = understood(DisproofRecord, document(claim.disproof), claim.disproof)
        disproof = Disproof(record.text, record.digests)
    return Evidence(claim, suite, suite_digest(value), policy, runs, disproof)


def judge(evidence: Evidence, ledgers: Ledgers, quality: QualityGate, at: At = unwatched) -> Judged:
    """The report on the evidence: the same function on the same input as an offline check, so the same bytes. `at` is told of each step."""

    def arm(role: Role) -> Arm:
        at("reading", list(evidence.runs).index(role), len(evidence.runs))
        _, seal, run = evidence.runs[role]
        return Arm(role, run, seal.document, ledgers.frame(seal.ledger), seal.ledger)

    experiment = Experiment(
        evidence.suite, evidence.suite_digest, arm("benign"), arm("attacked"),
        arm("baseline") if "baseline" in evidence.runs else None,
    )
    checked = check(experiment, evidence.policy, evidence.claim.policy, quality, evidence.disproof, at)
    certified = checked.report.verdict == "certified"
    rows = {role: ledgers.rows_root(seal.ledger) for role, (_, seal, _) in evidence.runs.items()} if certified else {}
    if certified:  # the object first, then the report that names it
        flips = flip_list(experiment.pairing)
        ledgers.keep_object(flips.digest(), flips.chunks())
    return Judged(evidence, experiment, checked, rows)


def find(tables: Tables, claim: Claim) -> Certified | None:
    """The result that this claim has already."""
    there = tables.certifications.of_subject(claim.subject)
    return None if there is None else Certified(there, stored_document(tables, there.report), False)


def record(
    tables: Tables, judged: Judged, signing: Signing, new_id: NewId, now: datetime, *, certification_id: str | None = None
) -> Certified:
    """Store a result and, if it is certified, release its certificate; a result that is there already stays and is returned."""
    claim, checked = judged.evidence.claim, judged.checked
    there = find(tables, claim)
    if there is not None:
        return there
    at, identifier, report = moment(now), certification_id or new_id("certification"), digest_of_bytes(checked.content)
    for digest, content in (*claim.contents.items(), (report, checked.content)):
        tables.documents.put(digest, content)
    certificate_id = new_id("certificate") if checked.report.verdict == "certified" else None
    certification = Certification(
        id=identifier, subject=claim.subject, benign=claim.benign, attacked=claim.attacked, baseline=claim.baseline,
        policy=claim.policy, manifest=claim.manifest, disproof=claim.disproof, disproves=claim.disproves, report=report,
        verdict=checked.report.verdict, certificate=certificate_id, created_at=at,
    )
    tables.certifications.add(certification)
    tell_verdict(tables, certification, judged.evidence.suite_digest)
    if claim.disproof is not None and claim.disproves is not None:
        log_disproof(tables, claim.disproves, claim.disproof, at)
    if certificate_id is not None:
        runs = {role: (run.id, seal) for role, (run, seal, _) in judged.evidence.runs.items()}
        release(tables, signing, certification, judged.experiment, checked, runs, judged.rows, certificate_id)
    return Certified(certification, checked.content, True)
