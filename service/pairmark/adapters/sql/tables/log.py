"""The transparency log. Appending happens in the transaction of whatever is logged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Select, and_, case, exists, func, insert, or_, select, tuple_, update
from sqlmodel import Session, col

from pairmark.adapters.sql.log_models import (
    LogEntryRow,
    LogSubjectRow,
    ReleaseRow,
)
from pairmark.adapters.sql.models import RunRow, SealRow
from pairmark.adapters.sql.tables.seen import certificate_seen
from pairmark.app.log_records import LogHead, LogRecord, Release, StoredCheckpoint
from pairmark.app.paging import is_plain
from pairmark.app.stored import Damaged
from pairmark.domain.access import Viewer
from pairmark.provenance.frontier import Frontier, places
from pairmark.provenance.merkle import leaf_hash

_index, _entry, _envelope = col(LogEntryRow.index), col(LogEntryRow.entry), col(LogEntryRow.envelope)
_subject, _found_at = col(LogSubjectRow.subject), col(LogSubjectRow.index)

# What every append and every signed head runs is said in tables: rows as objects would cost as much as the disk.
_entries, _nodes, _subjects, _heads, _checkpoints = (
    LogEntryRow.metadata.tables[f"log_{name}"] for name in ("entries", "nodes", "subjects", "head", "checkpoints")
)
_level, _place, _hash = _nodes.c.level, _nodes.c.index, _nodes.c.hash
_covers, _note = _checkpoints.c.size, _checkpoints.c.note


class SqlLog:
    """Entries name things by id and digest only, so that everybody may read them; what they name is read as it is seen."""

    def __init__(self, session: Session, viewer: Viewer) -> None:
        self._session = session
        self._viewer = viewer
        self._edge: Frontier | None = None
        self.grown = False
        """Whether this transaction appended."""
        self.extends: LogHead | None = None
        """The head that this transaction locked."""

    def append(self, entry: bytes, envelope: bytes | None, subjects: Sequence[str]) -> int:
        """Add an entry and advance the head.

        Raises:
            Damaged: the stored tree does not have the stored root.
        """
        edge = self._edge_of_head()
        index, before = edge.size, edge.size
        made = edge.append(leaf_hash(entry))
        self._session.execute(insert(_entries), [{"index": index, "entry": entry, "envelope": envelope}])
        self._session.execute(insert(_nodes), [{"level": level, "index": place, "hash": value} for level, place, value in made])
        found_by = [{"subject": subject, "index": index} for subject in dict.fromkeys(subjects)]
        if found_by:
            self._session.execute(insert(_subjects), found_by)
        advanced = self._session.execute(
            update(_heads).where(_heads.c.size == before).values(size=edge.size, root=edge.root())
        )
        if advanced.rowcount != 1:  # type: ignore[attr-defined]  # an UPDATE's result has it
            raise Damaged(f"expected the log's head at {before} entries, found it moved in one transaction")
        self.grown = True
        return index

    def next_index(self) -> int:
        """The size of the locked head."""
        return self._edge_of_head().size

    def head(self) -> LogHead:
        row = self._session.execute(select(_heads.c.size, _heads.c.root)).one()
        return LogHead(*row)

    def of_index(self, index: int) -> LogRecord | None:
        row = self._session.execute(self._shown().where(_index == index)).first()
        return None if row is None else LogRecord(*row)

    def page(self, start: int, limit: int) -> tuple[LogRecord, ...]:
        return _records(self._session.execute(self._shown().where(_index >= start).order_by(_index).limit(limit)))

    def _shown(self) -> Select[int, bytes, bytes | None]:
        """Entries, without the envelopes of certificates that the viewer may not read, and of what became of none but such."""
        if self._viewer.everything:
            return select(_index, _entry, _envelope)
        hidden = exists(
            select(col(ReleaseRow.certificate)).where(
                col(ReleaseRow.index) == _index, ~certificate_seen(self._viewer, col(ReleaseRow.certificate))
            )
        )
        named = (
            select(col(ReleaseRow.certificate)).join(LogSubjectRow, _subject == col(ReleaseRow.certificate))
            .where(_found_at == _index, col(ReleaseRow.index) != _index)
        )  # fmt: skip
        seen = named.where(certificate_seen(self._viewer, col(ReleaseRow.certificate)))
        return select(_index, _entry, case((or_(hidden, and_(exists(named), ~exists(seen))), None), else_=_envelope))

    def about(self, subject: str) -> tuple[LogRecord, ...]:
        if not is_plain(subject):
            return ()
        found = select(_index, _entry, _envelope).join(LogSubjectRow, _found_at == _index).where(_subject == subject)
        return _records(self._session.execute(found.order_by(_index)))

    def node(self, level: int, index: int) -> bytes:
        found = self._session.execute(select(_hash).where(_level == level, _place == index)).scalar()
        if found is None:
            raise Damaged(f"expected the log's node {index} at level {level}, found none; restore the database from a backup")
        return bytes(found)

    def checkpoint(self, at_least: int = 0) -> StoredCheckpoint | None:
        asked = select(_covers, _note).where(_covers >= at_least).order_by(_covers.desc()).limit(1)
        row = self._session.execute(asked).first()
        return None if row is None else StoredCheckpoint(*row)

    def checkpoints(self) -> tuple[StoredCheckpoint, ...]:
        rows = self._session.execute(select(_covers, _note).order_by(_covers))
        return tuple(StoredCheckpoint(size, note) for size, note in rows)

    def checkpoint_of(self, size: int) -> StoredCheckpoint | None:
        row = self._session.execute(select(_covers, _note).where(_covers == size)).first()
        return None if row is None else StoredCheckpoint(*row)

    def add_checkpoint(self, checkpoint: StoredCheckpoint) -> None:
        self._session.execute(insert(_checkpoints), [{"size": checkpoint.size, "note": checkpoint.note}])

    def release(self, release: Release) -> None:
        self._session.execute(
            insert(ReleaseRow), [{"certificate": release.certificate, "index": release.index, "svr": release.svr}]
        )

    def release_of(self, certificate: str) -> Release | None:
        if not is_plain(certificate):
            return None
        seen = certificate_seen(self._viewer, col(ReleaseRow.certificate))
        row = self._session.execute(select(ReleaseRow).where(col(ReleaseRow.certificate) == certificate, seen)).scalar()
        return None if row is None else Release(row.certificate, row.index, row.svr)

    def registered(self, groups: Sequence[str]) -> tuple[int, int, int]:
        """Counted over the runs that the groups' announcements name."""
        named = select(_found_at).where(_subject.in_(groups))
        runs = select(_subject).where(_found_at.in_(named), _subject.not_in(groups))
        sealed = select(func.count()).select_from(SealRow).where(col(SealRow.run).in_(runs))
        late = select(func.count()).select_from(RunRow).where(col(RunRow.id).in_(runs), col(RunRow.after_the_fact).is_(True))
        announced = int(self._session.execute(select(func.count()).select_from(named.subquery())).scalar_one())
        return announced, announced - int(self._session.execute(sealed).scalar_one()), int(self._session.execute(late).scalar_one())

    def _edge_of_head(self) -> Frontier:
        """The right edge of the tree, checked against the stored root once for each transaction; the head is locked until its end."""
        if self._edge is None:
            row = self._session.execute(select(_heads.c.size, _heads.c.root).with_for_update()).one()
            head = LogHead(*row)
            edge = Frontier.of(head.size, self.nodes(places(head.size)))
            if edge.root() != head.root:
                raise Damaged(
                    f"expected the stored tree of {head.size} log entries to have the stored root, found another;"
                    " run `pairmark log fsck` and restore the database from a backup"
                )
            self._edge, self.extends = edge, head
        return self._edge

    def nodes(self, wanted: Sequence[tuple[int, int]]) -> list[bytes]:
        if not wanted:
            return []
        rows = self._session.execute(select(_level, _place, _hash).where(tuple_(_level, _place).in_(wanted)))
        found = {(level, place): bytes(value) for level, place, value in rows}
        missing = [place for place in wanted if place not in found]
        if missing:
            raise Damaged(f"expected the log's nodes (level, index) {missing}, found none; restore the database from a backup")
        return [found[place] for place in wanted]


def _records(rows: Iterable[Any]) -> tuple[LogRecord, ...]:
    return tuple(LogRecord(index, entry, envelope) for index, entry, envelope in rows)
