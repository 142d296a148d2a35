"""Steps 5 to 7: the manifest, runs and ledgers at hand, and everything computed from them again.

Only this module loads tables, metrics and rules, and only when artifacts are given.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pairmark.adapters.ledgers.bundle import (
    LoadedPolicy,
    read_bundle,
    read_bytes,
    read_policy,
    read_suite,
    shipped_policies,
)
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS
from pairmark.app.check import CheckedPair, check
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.errors import Malformed, shown
from pairmark.domain.evidence import Arm, Experiment
from pairmark.domain.pairing import Pairing
from pairmark.domain.strict_json import parse
from pairmark.metrics.registry import metrics_block
from pairmark.provenance.registrations import Registered, system_key
from pairmark.provenance.statement import ARM_ROLES, CertificatePredicate, Statement, components_of
from pairmark.rules.base import Disproof

REFUSE = "do not trust the certificate with these files"


def read_experiment(folder: Path, predicate: CertificatePredicate) -> Experiment:
    """The experiment that the certificate is about, from `suite.json`, `benign/`, `attacked/` and `baseline/` (or `.tar.gz` of them).

    Raises:
        Malformed: a file is missing, cannot be read, or is not the one that the certificate names.
    """
    suite = read_suite(folder / "suite.json")
    stated = predicate.suite
    _same(digest_of(suite.value), stated.manifest, "the manifest", folder / "suite.json")
    _same(suite.digest, stated.digest, "the suite's content", folder / "suite.json")
    _same(digest_of(components_of(suite.value)), digest_of(stated.components.model_dump()), "the suite's components", folder / "suite.json")
    arms: dict[str, Arm] = {}
    for role in ARM_ROLES:
        claimed = predicate.arms.given().get(role)
        if claimed is None:
            continue
        place = folder / role
        archive = folder / f"{role}.tar.gz"
        arm = read_bundle(archive if archive.is_file() and not place.exists() else place, role)
        _same(arm.run_digest, claimed.run, f"the {role} run", place)
        _same(arm.ledger_digest, claimed.ledger.digest, f"the {role} ledger", place)
        counted: Registered | None = getattr(predicate.registrations, role)
        if counted is not None:
            _same(system_key(arm.run.model_dump(mode="json", by_alias=True)), counted.system, f"the {role} run's system", place)
        if arm.ledger.height != claimed.ledger.count:
            raise Malformed("wrong-count", f"expected {claimed.ledger.count} episodes, found {arm.ledger.height}", str(place), remedy=REFUSE)
        arms[role] = arm
    for role in ("benign", "attacked"):
        epochs = predicate.pairing.epochs.benign if role == "benign" else predicate.pairing.epochs.attacked
        if arms[role].run.epochs != epochs:
            raise Malformed("wrong-epochs", f"expected the epochs of the {role} run as the pairing states them, found others", remedy=REFUSE)
    report = folder / "report.json"
    if report.is_file():
        data = read_bytes(report, "document", DEFAULT_LIMITS.document)
        _same(digest_of(parse(data, file=str(report))), predicate.report, "the report", report)
    return Experiment(suite.manifest, suite.digest, arms["benign"], arms["attacked"], arms.get("baseline"))


def _same(found: str, expected: str, what: str, place: Path) -> None:
    if found != expected:
        raise Malformed("wrong-artifact", f"expected {what} with digest {expected}, found {found}", str(place), remedy=REFUSE)


def policy_at_hand(folder: Path, predicate: CertificatePredicate) -> LoadedPolicy | None:
    """The policy: `policy.json` in the folder, else the shipped one of that name; none if neither is there.

    Raises:
        Malformed: it is not the one that the certificate names by digest.
    """
    said = predicate.policy
    file, name = folder / "policy.json", f"{said.name}/{said.version}"
    if not file.is_file() and name not in shipped_policies():
        return None
    loaded = read_policy(file if file.is_file() else name)
    if loaded.digest != said.digest:
        raise Malformed(
            "wrong-policy", f"expected policy {name} with digest {said.digest}, found {loaded.digest}", str(file) if file.is_file() else None,
            remedy=REFUSE,
        )
    return loaded


def judged_again(experiment: Experiment, policy: LoadedPolicy, predicate: CertificatePredicate) -> CheckedPair:
    """The report on the artifacts, with the disproof that the certificate shows."""
    from pairmark.adapters.quality.gate import great_expectations_gate

    stated = predicate.disproof
    disproof = None if stated is None else Disproof(stated.record.text, stated.record.digests)
    return check(experiment, policy.policy, policy.digest, great_expectations_gate(), disproof)


def compare_numbers(experiment: Experiment, checked: CheckedPair | None, statement: Statement) -> str:
    """Compare every released number and count. Metrics that were added to Pairmark since are not the certificate's to hold.

    Raises:
        Malformed: naming the first number that differs.
    """
    again = None if checked is None else checked.value["metrics"]
    computed: dict[str, Any] = metrics_block(Pairing(experiment))[0] if again is None else again
    predicate = statement.value["predicate"]
    _equal(predicate["metrics"], computed, "/metrics")
    if checked is not None:
        _equal(predicate["counts"], checked.value["counts"], "/counts")
    return f"{_size(predicate['metrics'])} values computed again from the ledgers"


def _equal(said: Any, computed: Any, pointer: str) -> None:
    if isinstance(said, dict) and isinstance(computed, dict) and pointer.count("/") == 1:
        for key, value in said.items():
            if key not in computed:
                raise Malformed("wrong-number", f"expected {pointer}/{key} to be computed, found no such metric", remedy="use the certifier's version")
            _equal(value, computed[key], f"{pointer}/{key}")
    elif isinstance(said, dict) and isinstance(computed, dict) and said.keys() == computed.keys():
        for key, value in said.items():
            _equal(value, computed[key], f"{pointer}/{key}")
    elif canonical_bytes(said) != canonical_bytes(computed):
        raise Malformed("wrong-number", f"expected {pointer} {shown(said)} as certified, found {shown(computed)} computed", remedy="do not trust it")


def _size(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_size, value.values() if isinstance(value, dict) else value))
    return 1


def compare_findings(checked: CheckedPair, statement: Statement) -> str:
    """Compare what the rules find. The same version of Pairmark must write the same report, byte for byte; another may word it anew.

    Raises:
        Malformed: naming the first rule whose outcome differs.
    """
    from pairmark import __version__

    said = {finding.rule: finding.outcome for finding in statement.predicate.policy.findings}
    found = {finding.rule: finding.outcome for finding in checked.report.findings}
    for rule in sorted(said.keys() | found.keys()):
        if said.get(rule) != found.get(rule):
            raise Malformed(
                "wrong-finding", f"expected rule {rule} {said.get(rule, 'not in the policy')} as certified, found it "
                f"{found.get(rule, 'not in the policy')}", remedy="do not trust the certificate with these files",
            )
    if checked.content == statement.report:
        return f"{len(said)} rules run again: the report is the same, byte for byte"
    engine = statement.predicate.policy.engine
    if engine == __version__:
        raise Malformed(
            "wrong-report", f"expected the report of digest {statement.predicate.report}, byte for byte, from the same version {engine}; "
            "found the same outcomes in another report", remedy="do not trust it",
        )
    if not set(statement.predicate.flags) <= set(checked.report.flags):
        raise Malformed("wrong-flags", "expected at least the flags that were certified, found fewer", remedy="do not trust it")
    return f"{len(said)} rules run again by version {__version__}: the same outcomes (certified by version {engine}, which words its report otherwise)"
