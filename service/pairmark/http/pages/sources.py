"""Where pages get what they show: the answers of the API, from the use cases that its routes call. Access rules belong here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Depends

from pairmark.adapters.ledger_store import EpisodeFilter
from pairmark.app.audit import list_audit
from pairmark.app.certificate_cells import (
    FlipKind,
    PairOfOutcomes,
    certificate_cells,
    open_cells_evidence,
)
from pairmark.app.certify import Certified
from pairmark.app.citation import citation
from pairmark.app.compare import compare_certificates
from pairmark.app.comparison.compare import Reweight
from pairmark.app.count_run import count_run, run_to_count
from pairmark.app.diff_suites import diff_registered
from pairmark.app.history import history
from pairmark.app.list_certifications import list_certifications
from pairmark.app.log_read import inclusion, log_page, newest_checkpoint
from pairmark.app.moments import moment
from pairmark.app.open_episodes import require_open_episodes
from pairmark.app.paging import cursor_at, place_of, query_mark
from pairmark.app.people import keys_seen
from pairmark.app.people_records import AuditQuery
from pairmark.app.planning.sources import plan_from_stored
from pairmark.app.ports import HistoryQuery, Job, SuiteLabel
from pairmark.app.read_bundle import read_bundle, release_of
from pairmark.app.read_certificate import read_certificate
from pairmark.app.read_certification import read_certification
from pairmark.app.read_run import read_run, sealed_ledger
from pairmark.app.read_suite import list_suites, read_suite
from pairmark.app.search import Found, search
from pairmark.app.status import standing_at
from pairmark.app.work_off import refusal_of
from pairmark.domain.access import PERMISSIONS, Permission
from pairmark.domain.documents.evaluation_plan import PlanRequest
from pairmark.domain.errors import Conflict
from pairmark.domain.strict_json import parse
from pairmark.domain.version_order import version_key
from pairmark.http.routes.certificate_cells import cells_answer
from pairmark.http.routes.certification_list import certification_item
from pairmark.http.routes.certifications import done_answer, undone_answer
from pairmark.http.routes.history import history_page
from pairmark.http.routes.people import audit_answer, key_answer, member_answer
from pairmark.http.routes.runs import read_answer
from pairmark.http.routes.suites import suite_item
from pairmark.http.services import Services, WithServices
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.note import encode_base64

Answer = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Sources:
    """The answers of the API as values."""

    services: Services

    def suites(self, name: str | None, cursor: str | None, limit: int) -> Answer:
        """`GET /v1/suites`."""
        with self.services.database.reading() as tables:
            found = list_suites(tables, name, cursor, limit)
        return {"items": [suite_item(label) for label in found.items], "next": found.next}

    def suite(self, digest: str) -> tuple[Answer, Answer, list[Answer]]:
        """`GET /v1/suites/{digest}`, its label, and all labels of its name with one digest each, in the order of versions."""
        with self.services.database.reading() as tables:
            found = read_suite(tables, digest)
            labels: tuple[SuiteLabel, ...] = tables.suites.of_name(found.label.name)
        ordered = sorted(labels, key=lambda label: version_key(label.version))
        return _object(found.content), suite_item(found.label), [suite_item(label) for label in ordered]

    def suite_diff(self, left: str, right: str, *, certificates: bool = False) -> Answer:
        """`GET /v1/suites/{digest}/diff/{other}`."""
        with self.services.database.reading() as tables:
            found = diff_registered(tables, left, right, certificates=certificates)
        return found.model_dump(mode="json", by_alias=True)

    def certifications(
        self, verdict: str | None, *, waiting: bool = False, run: str | None = None, cursor: str | None = None, limit: int
    ) -> Answer:
        """`GET /v1/certifications`."""
        with self.services.database.reading() as tables:
            found = list_certifications(tables, verdict, waiting=waiting, run=run, cursor=cursor, limit=limit)
        return {"items": [certification_item(line) for line in found.items], "next": found.next}

    def run(self, run_id: str) -> Answer:
        """`GET /v1/runs/{run_id}`."""
        with self.services.database.reading() as tables:
            return read_answer(read_run(tables, run_id))

    def run_counts(self, run_id: str) -> Answer:
        """`GET /v1/runs/{run_id}/counts`."""
        with self.services.database.reading() as tables:
            source = run_to_count(tables, run_id)
        return asdict(count_run(source, self.services.ledgers))

    def episodes(self, run_id: str, chosen: EpisodeFilter, cursor: str | None, limit: int) -> Answer:
        """`GET /v1/runs/{run_id}/episodes`."""
        with self.services.database.reading() as tables:
            seal = sealed_ledger(tables, run_id)
            require_open_episodes(tables, run_id)
        mark = query_mark(["episodes", seal.ledger, chosen.described()])
        place = place_of(cursor, mark, (int,))
        start = 0 if place is None else max(int(place[0]), 0)
        rows, following = self.services.ledgers.page(seal.ledger, chosen, start, limit)
        return {"items": rows, "next": None if following is None else cursor_at(mark, (following,))}

    def episodes_open(self, run_id: str) -> bool:
        """Whether `GET /v1/runs/{run_id}/episodes` answers this caller."""
        with self.services.database.reading() as tables:
            return tables.people.episodes_open(run_id)

    def certification(self, certification_id: str) -> Answer:
        """`GET /v1/certifications/{certification_id}`; with `problem` where it came to nothing, and `refusal` where that is an answer."""
        with self.services.database.reading() as tables:
            found = read_certification(tables, certification_id)
        if isinstance(found, Certified):
            return {**done_answer(found), "problem": None, "refusal": None}
        refusal = refusal_of(found) if isinstance(found, Job) else None
        return {
            **undone_answer(found), "problem": found.problem if isinstance(found, Job) else None,
            "refusal": None if refusal is None else refusal.message,
        }

    def certificate(self, certificate_id: str) -> Answer:
        """`GET /v1/certificates/{certificate_id}`."""
        with self.services.database.reading() as tables:
            found = read_certificate(tables, certificate_id)
        return {"digest": found.certificate.document, "certificate": parse(found.content), "report": parse(found.report)}

    def standing(self, certificate_id: str) -> Answer | None:
        """`GET /v1/certificates/{certificate_id}/status`; None for a certificate from before there was a log."""
        try:
            self._publish(certificate_id)
        except Conflict:
            return None
        with self.services.database.reading() as tables:
            found = standing_at(tables, certificate_id, None)
            released = release_of(tables, certificate_id).index
        standing = found.standing
        return {
            "certificate": found.certificate, "status": standing.status, "index": standing.index, "reason": standing.reason,
            "by": standing.by, "size": found.size, "released": released,
        }  # fmt: skip

    def citation(self, certificate_id: str) -> str:
        """What `pairmark export --as citation` writes."""
        with self.services.database.reading() as tables:
            bundle = read_bundle(tables, certificate_id)
        return citation(parse_bundle(bundle), self.root_digest)

    @property
    def root_digest(self) -> str:
        """Digest of the log's first trust root."""
        return self.services.signing.chain.root_digest

    def history_line(self, certificate_id: str, suite: str) -> Answer | None:
        """A page of history with the one certificate in it, as a table needs it; None where it is in none."""
        with self.services.database.reading() as tables:
            line = tables.history.find(certificate_id)
            if line is None:
                return None
            found = history(tables, suite, HistoryQuery(suite="", weighting="", definition="", incomparable=True), None, 1)
        answer = history_page(found, moment(self.services.clock()))
        own = {**_object(line.summary), "suite": line.suite, "status": line.status, "left_out": None}
        return {**answer, "items": [own], "left_out": {}, "next": None}

    def cells(self, certificate_id: str) -> Answer:
        """`GET /v1/certificates/{certificate_id}/cells`."""
        with self.services.database.reading() as tables:
            evidence = open_cells_evidence(tables, certificate_id)
        return cells_answer(certificate_cells(certificate_id, evidence, self.services.ledgers))

    def pairs(
        self, certificate_id: str, kinds: Sequence[FlipKind], task: str | None, injection: str | None, start: int, limit: int
    ) -> tuple[list[PairOfOutcomes], int | None]:
        """A part of `GET /v1/certificates/{certificate_id}/flips`."""
        with self.services.database.reading() as tables:
            evidence = open_cells_evidence(tables, certificate_id)
        found = certificate_cells(certificate_id, evidence, self.services.ledgers)
        return found.pairs(kinds, task, injection, start, limit)

    def history(self, suite: str, query: HistoryQuery, cursor: str | None, limit: int) -> Answer:
        """`GET /v1/history`."""
        with self.services.database.reading() as tables:
            found = history(tables, suite, query, cursor, limit)
        return history_page(found, moment(self.services.clock()))

    def comparison(self, left: str, others: Sequence[str], reweight: Reweight | None) -> Answer:
        """`GET /v1/comparisons`.

        Raises:
            NotComparable: with what differs and what does compare.
        """
        with self.services.turns:
            found = compare_certificates(self.services.database, self.services.ledgers, left, others, reweight)
        return found.model_dump(mode="json", by_alias=True)

    def plan(self, request: PlanRequest) -> Answer:
        """`POST /v1/plans`."""
        with self.services.turns:
            found = plan_from_stored(self.services.database, self.services.ledgers, request)
        return found.model_dump(mode="json", by_alias=True)

    def checkpoint(self) -> str:
        """`GET /v1/log/checkpoint`."""
        self.services.publisher.publish()
        with self.services.database.reading() as tables:
            return newest_checkpoint(tables).note.decode()

    def log(self, start: int, limit: int) -> Answer:
        """`GET /v1/log/entries`, without the envelopes."""
        with self.services.database.reading() as tables:
            found = log_page(tables, start, limit)
        items = [{"index": one.index, "entry": parse(one.entry), "signed": one.envelope is not None} for one in found.entries]
        return {"size": found.size, "items": items, "next": found.next}

    def proof(self, index: int) -> Answer:
        """`GET /v1/log/proof?index=`."""
        with self.services.database.reading() as tables:
            found = inclusion(tables, index, None)
        return {
            "index": found.index, "size": found.size, "leaf": encode_base64(found.leaf), "root": encode_base64(found.root),
            "path": [encode_base64(node) for node in found.path],
        }  # fmt: skip

    def caller(self) -> Answer:
        """`GET /v1/me`."""
        who = self.services.principal
        return {
            "via": who.via, "organisation": who.organisation, "member": who.member, "key": who.key,
            "permissions": [each for each in PERMISSIONS if each in who.permissions],
        }  # fmt: skip

    def members(self) -> list[Answer]:
        """`GET /v1/members`."""
        with self.services.database.reading() as tables:
            return [member_answer(each) for each in tables.people.members(self.services.principal.owner)]

    def keys(self) -> list[Answer]:
        """`GET /v1/keys`."""
        with self.services.database.reading() as tables:
            found = keys_seen(tables, self.services.principal)
        return [key_answer(key, member, self.services.clock()) for key, member in found]

    def audit(self, cursor: str | None, limit: int) -> Answer:
        """`GET /v1/audit`."""
        with self.services.database.reading() as tables:
            found = list_audit(tables, AuditQuery(self.services.principal.organisation, None, None), cursor, limit)
        return {"items": [audit_answer(each) for each in found.items], "next": found.next}

    def may(self, permission: Permission) -> bool:
        """Whether the caller of this request may do such a thing."""
        return permission in self.services.principal.permissions

    def found(self, text: str) -> tuple[Found, ...]:
        """What a search names."""
        with self.services.database.reading() as tables:
            return search(tables, text)

    def _publish(self, certificate_id: str) -> None:
        with self.services.database.reading() as tables:
            release_of(tables, certificate_id)
            size = tables.log.about(certificate_id)[-1].index + 1
        self.services.publisher.cover(size)


def _object(content: bytes) -> Answer:
    """A stored document: bytes that this service wrote itself."""
    found = parse(content)
    if not isinstance(found, dict):
        raise TypeError(f"expected an object, found {type(found).__name__}")
    return found


def sources_of(services: WithServices) -> Sources:
    """What the pages of one request read from."""
    return Sources(services)


WithSources = Annotated[Sources, Depends(sources_of)]

