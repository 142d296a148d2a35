"""Documents as bytes by digest."""

from __future__ import annotations

from sqlmodel import Session, select

from pairmark.adapters.sql.models import DocumentRow


class SqlDocuments:
    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, digest: str, content: bytes) -> None:
        """Store a document unless it is there; the digest is trusted to be its own."""
        there = self._session.exec(select(DocumentRow.digest).where(DocumentRow.digest == digest)).first()
        if there is None:
            self._session.add(DocumentRow(digest=digest, content=content))
            self._session.flush()

    def get(self, digest: str) -> bytes | None:
        return self._session.exec(select(DocumentRow.content).where(DocumentRow.digest == digest)).first()
