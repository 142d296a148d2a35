"""The tables of the transparency log. Triggers refuse to change or remove their rows; only the head's one row grows."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Integer, LargeBinary, String
from sqlmodel import Field

from pairmark.adapters.sql.models import ID, Row

HASH = LargeBinary(32)


class LogEntryRow(Row, table=True):
    """An entry as it was hashed, and the signed envelope that it names. The index is given, never drawn: a roll-back leaves no gap."""

    __tablename__ = "log_entries"

    index: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    entry: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    envelope: bytes | None = Field(sa_column=Column(LargeBinary, nullable=True))


class LogNodeRow(Row, table=True):
    """Hash of a complete subtree; level 0 is the entries' leaf hashes."""

    __tablename__ = "log_nodes"

    level: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    index: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    hash: bytes = Field(sa_column=Column(HASH, nullable=False))


class LogSubjectRow(Row, table=True):
    """What an entry is found by: a certificate's or run's id, or the digest of a group of announcements."""

    __tablename__ = "log_subjects"

    subject: str = Field(sa_column=Column(String(128), primary_key=True))
    index: int = Field(sa_column=Column(BigInteger, ForeignKey("log_entries.index"), primary_key=True, autoincrement=False))


class LogHeadRow(Row, table=True):
    """How many entries there are, and their root: one row."""

    __tablename__ = "log_head"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    size: int = Field(sa_column=Column(BigInteger, nullable=False))
    root: bytes = Field(sa_column=Column(HASH, nullable=False))


class LogCheckpointRow(Row, table=True):
    """A signed head, as it was handed out."""

    __tablename__ = "log_checkpoints"

    size: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    note: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class ReleaseRow(Row, table=True):
    """Where a certificate stands in the log, and the SVR envelope that was signed with it."""

    __tablename__ = "certificate_releases"

    certificate: str = Field(sa_column=Column(ID, ForeignKey("certificates.id"), primary_key=True))
    index: int = Field(sa_column=Column(BigInteger, ForeignKey("log_entries.index"), nullable=False, unique=True))
    svr: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
