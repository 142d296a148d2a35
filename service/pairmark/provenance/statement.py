"""The certificate: an in-toto statement about a suite and the runs of a certified pair (`urn:pairmark:certificate:v1`).

Everything the report says is in it, so the report's bytes can be written again from it, and its digest is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes, suite_digest
from pairmark.domain.documents.base import Count, Digest, Identifier, Strict, Text, Time
from pairmark.domain.documents.disproof import DisproofRecord
from pairmark.domain.documents.metric_values import Metrics
from pairmark.domain.documents.report import Finding, Flag, ReportCounts
from pairmark.domain.documents.run import Epoch, LedgerReference
from pairmark.domain.documents.suite import Weighting
from pairmark.domain.errors import Malformed, shown
from pairmark.domain.verdict import verdict_of
from pairmark.provenance.exact import exact_bytes
from pairmark.provenance.in_toto import StatementOf, read_as, statement_value, subject
from pairmark.provenance.registrations import Registered

CERTIFICATE_TYPE = "urn:pairmark:certificate:v1"
ArmRole = Literal["benign", "attacked", "baseline"]
ARM_ROLES: tuple[ArmRole, ...] = ("benign", "attacked", "baseline")

NON_CLAIMS: tuple[str, ...] = (
    "It does not say that the runs were made as they declare: it says what was handed in, when, and that it is one experiment.",
    "It does not say that the system resists other attacks, other injections, or attackers who know its defense.",
    "It does not say that the suite's checkers are right; it names them by digest.",
    "It does not say that no better or worse runs exist outside this log; it counts those announced in it.",
    "It does not compare this system with others: only a frozen mix of certificates does.",
    "It does not stand for ever: ask for its status in the log.",
)
"""What a certificate does not say. Later versions may word it anew; a certificate keeps the words it was signed with."""


class Certifier(Strict):
    """The program that judged: also the version of the rules' engine."""

    name: Literal["pairmark"]
    version: Identifier
    commit: Identifier | None


class Part(Strict):
    """A part of the suite: how many there are, and the digest of their list as the manifest writes it."""

    count: Count
    digest: Digest


class Components(Strict):
    environment: Digest
    tools: Part
    tasks: Part
    injections: Part
    grid: Digest


class StatedSuite(Strict):
    """`digest` is of the frozen content, `manifest` of the whole document, probes and description included."""

    name: Identifier
    labels: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    digest: Digest
    manifest: Digest
    components: Components


class StatedArm(Strict):
    """A sealed run. `rows` is the root over its salted rows, null where the certifier does not show single rows."""

    id: Identifier
    run: Digest
    ledger: LedgerReference
    rows: Digest | None


class StatedArms(Strict):
    """Without a baseline an undefended attacked run stands for it."""

    benign: StatedArm
    attacked: StatedArm
    baseline: StatedArm | None

    def given(self) -> dict[ArmRole, StatedArm]:
        """The arms that are there."""
        found = {"benign": self.benign, "attacked": self.attacked, "baseline": self.baseline}
        return {role: arm for role in ARM_ROLES if (arm := found[role]) is not None}


class StatedEpochs(Strict):
    benign: tuple[Epoch, ...]
    attacked: tuple[Epoch, ...]


class StatedPairing(Strict):
    """How the arms meet: by task, epoch number and seed. `list` is the digest of the whole list of pairs."""

    weighting: Weighting
    epochs: StatedEpochs
    pairs: Count
    unpaired: Count
    list: Digest


class StatedPolicy(Strict):
    name: Identifier
    version: Identifier
    digest: Digest
    engine: Identifier
    findings: tuple[Finding, ...]


class Registrations(Strict):
    """Counted over the first `upTo` entries of the log."""

    up_to: Count = Field(alias="upTo")
    benign: Registered
    attacked: Registered
    baseline: Registered | None


class StatedDisproof(Strict):
    """A reviewer's record, as written, against the held finding of an earlier certification."""

    certification: Identifier
    record: DisproofRecord


class Relations(Strict):
    supersedes: Identifier | None


class CertificatePredicate(Strict):
    """What a certificate says. `report` is the digest of the report that its parts write again."""

    serial: Identifier
    issued_at: Time = Field(alias="issuedAt")
    certification: Identifier
    certifier: Certifier
    suite: StatedSuite
    arms: StatedArms
    pairing: StatedPairing
    policy: StatedPolicy
    flags: tuple[Flag, ...]
    counts: ReportCounts
    metrics: Metrics
    report: Digest
    registrations: Registrations
    disproof: StatedDisproof | None
    relations: Relations
    non_claims: Annotated[tuple[Text, ...], Field(min_length=1)] = Field(alias="nonClaims")


class CertificateStatement(StatementOf):
    """The whole statement."""

    predicate_type: Literal["urn:pairmark:certificate:v1"] = Field(alias="predicateType")
    predicate: CertificatePredicate


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement that holds together: its model, JSON value, and the report its parts write again, as RFC 8785 bytes."""

    document: CertificateStatement
    value: dict[str, Any]
    report: bytes

    @property
    def predicate(self) -> CertificatePredicate:
        return self.document.predicate


@dataclass(frozen=True)
class ArmClaim:
    """What goes in of one arm: run id, run document as written, its ledger, root over its salted rows, announced runs."""

    id: str
    run: Mapping[str, Any]
    ledger: str
    count: int
    rows: str | None
    registered: Registered


def certificate_bytes(
    *,
    serial: str,
    issued_at: str,
    certification: str,
    version: str,
    commit: str | None,
    manifest: Mapping[str, Any],
    labels: Sequence[str],
    report: Mapping[str, Any],
    arms: Mapping[ArmRole, ArmClaim],
    up_to: int,
    disproof: tuple[str, Mapping[str, Any]] | None = None,
    supersedes: str | None = None,
) -> bytes:
    """The payload to sign.

    Args:
        serial: the certificate's id.
        issued_at: a time with offset.
        certification: id of the judgement.
        version: of the certifier; `commit` where it is known.
        commit: see `version`.
        manifest: suite manifest as written.
        labels: the suite's labels that share this content, at least one.
        report: value of a certified report.
        arms: benign, attacked and, if it was given, baseline.
        up_to: how many log entries the registrations were counted over.
        disproof: id of the certification that was held, and the reviewer's record as written.
        supersedes: serial of the certificate that this one stands in place of.

    Raises:
        Malformed: the parts do not belong together, or the report is not certified.
    """
    metrics = report["metrics"]
    if metrics is None or report["verdict"] != "certified":
        raise Malformed(
            "not-certified", f"expected a certified report, found {shown(report['verdict'])}", remedy="only certified pairs are released"
        )
    flips = metrics["flips"]
    tries: dict[str, Any] = {role: arms[role].registered.model_dump(by_alias=True) if role in arms else None for role in ARM_ROLES}
    predicate: dict[str, Any] = {
        "serial": serial,
        "issuedAt": issued_at,
        "certification": certification,
        "certifier": {"name": "pairmark", "version": version, "commit": commit},
        "suite": _suite(manifest, labels),
        "arms": {role: _arm(arms[role]) if role in arms else None for role in ARM_ROLES},
        "pairing": {
            "weighting": metrics["weighting"],
            "epochs": {role: arms[role].run["epochs"] for role in ("benign", "attacked")},
            "pairs": flips["lost"] + flips["gained"] + flips["kept"] + flips["neither"],
            "unpaired": flips["unpaired"],
            "list": flips["cells_digest"],
        },
        "policy": {**report["policy"], "engine": version, "findings": report["findings"]},
        "flags": report["flags"],
        "counts": report["counts"],
        "metrics": metrics,
        "report": digest_of(report),
        "registrations": {"upTo": up_to, **tries},
        "disproof": None if disproof is None else {"certification": disproof[0], "record": dict(disproof[1])},
        "relations": {"supersedes": supersedes},
        "nonClaims": list(NON_CLAIMS),
    }
    payload = canonical_bytes(statement_value(_subjects(predicate), CERTIFICATE_TYPE, predicate))
    read_statement(payload)
    return payload


def _suite(manifest: Mapping[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    return {
        "name": manifest["suite"],
        "labels": list(labels),
        "digest": suite_digest(manifest),
        "manifest": digest_of(manifest),
        "components": components_of(manifest),
    }


def components_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Counts and digests of a manifest's parts, as written."""
    def part(key: str) -> dict[str, Any]:
        return {"count": len(manifest[key]), "digest": digest_of(manifest[key])}

    return {
        "environment": manifest["environment"]["digest"],
        "tools": part("tools"),
        "tasks": part("tasks"),
        "injections": part("injections"),
        "grid": digest_of(manifest["grid"]),
    }


def _arm(arm: ArmClaim) -> dict[str, Any]:
    return {"id": arm.id, "run": digest_of(arm.run), "ledger": {"count": arm.count, "digest": arm.ledger}, "rows": arm.rows}


def _subjects(predicate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every file that must match, in order of the arms."""
    subjects = [subject("suite/manifest.json", predicate["suite"]["manifest"])]
    for role in ARM_ROLES:
        arm = predicate["arms"][role]
        if arm is not None:
            subjects += [subject(f"{role}/run.json", arm["run"]), subject(f"{role}/episodes.jsonl", arm["ledger"]["digest"])]
    return subjects


def report_value(predicate: Mapping[str, Any]) -> dict[str, Any]:
    """The report that a certificate's parts write again. Without a baseline the attacked run fills its place, if it has counts."""
    arms, policy = predicate["arms"], predicate["policy"]
    stands_in = arms["baseline"] or (arms["attacked"] if predicate["counts"]["baseline"] is not None else None)
    return {
        "schema": "pairmark/report/v1",
        "verdict": "certified",
        "flags": predicate["flags"],
        "policy": {key: policy[key] for key in ("name", "version", "digest")},
        "suite": {key: predicate["suite"][key] for key in ("name", "digest")},
        "runs": {
            "benign": arms["benign"]["run"],
            "attacked": arms["attacked"]["run"],
            "baseline": None if stands_in is None else stands_in["run"],
        },
        "findings": policy["findings"],
        "counts": predicate["counts"],
        "metrics": predicate["metrics"],
    }


def read_statement(payload: bytes, *, file: str | None = None) -> Statement:
    """A certificate from its payload bytes, if its parts belong together.

    1. RFC 8785 bytes of the shape above; no numbers but integers.
    2. The subjects are the manifest and each given arm's run and ledger, in order, with the digests the predicate gives.
    3. The parts write a report of the stated digest, and its findings fold to `certified`.
    4. What is said twice is said alike: weighting, pairs, and registrations for each given arm.

    Raises:
        Malformed: naming the first of these that does not hold.
    """
    document, value = read_as(CertificateStatement, payload, "a certificate statement", file=file)
    predicate: dict[str, Any] = value["predicate"]
    report = exact_bytes(report_value(predicate))
    problem = _contradiction(document.predicate, value, predicate, report)
    if problem is not None:
        raise Malformed("contradiction", problem, file, remedy="do not trust this certificate")
    return Statement(document, value, report)


def _contradiction(document: CertificatePredicate, value: Mapping[str, Any], predicate: Mapping[str, Any], report: bytes) -> str | None:
    """The first thing that does not hold together."""
    if value["subject"] != _subjects(predicate):
        return "expected the manifest and each arm's run and ledger as subjects, with the digests of the predicate; found others"
    found = digest_of_bytes(report)
    if found != document.report:
        return f"expected the certificate's parts to write the report {document.report}, found {found}"
    if verdict_of(document.policy.findings) != "certified":
        return f"expected findings that certify, found {verdict_of(document.policy.findings)}"
    flips, pairing = document.metrics.flips, document.pairing
    counted = (document.metrics.weighting, flips.lost + flips.gained + flips.kept + flips.neither, flips.unpaired, flips.cells_digest)
    if (pairing.weighting, pairing.pairs, pairing.unpaired, pairing.list) != counted:
        return "expected the pairing that the metrics are over, found another"
    if (document.registrations.baseline is None) != (document.arms.baseline is None):
        return "expected registrations of the baseline where there is one, and only there"
    return None
