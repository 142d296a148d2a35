"""History under suite names and with a status; submitted aggregates."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

RATES = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")
NUMBERS = ", ".join(f"h.{rate}, h.{rate}_number" for rate in RATES)
COLUMNS = ", ".join(f"{rate}, {rate}_number" for rate in RATES)


def _rates():
    return [
        column
        for rate in RATES
        for column in (sa.Column(rate, sa.Text(), nullable=True), sa.Column(f"{rate}_number", sa.Double(), nullable=True))
    ]


def upgrade() -> None:
    op.create_table("history_entries",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("suite_name", sa.String(length=256), nullable=False),
        sa.Column("suite", sa.String(length=71), nullable=False),
        sa.Column("weighting", sa.String(length=16), nullable=False),
        sa.Column("definition", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        *_rates(),
        sa.Column("summary", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("status IN ('valid', 'superseded', 'revoked', 'uncertifiable')", name="ck_history_entries_status"),
        sa.PrimaryKeyConstraint("id", name="pk_history_entries")
    )
    op.execute(
        f"INSERT INTO history_entries (id, suite_name, suite, weighting, definition, status, created_at, {COLUMNS}, summary)"
        f" SELECT h.certificate, (SELECT MIN(s.name) FROM suites s WHERE s.digest = h.suite), h.suite, h.weighting, h.definition,"
        f" 'valid', h.created_at, {NUMBERS}, h.summary FROM history h"
    )
    mix = ["suite", "weighting", "definition", "status"]
    op.create_index("ix_history_entries_date", "history_entries", [*mix, "created_at", "id"])
    op.create_index("ix_history_entries_drop", "history_entries", [*mix, "utility_drop_number", "id"])
    op.create_index("ix_history_entries_utility", "history_entries", [*mix, "utility_under_attack_number", "id"])
    op.create_index("ix_history_entries_name", "history_entries", ["suite_name", "status", "suite", "definition"])
    op.create_table("history_entry_names",
        sa.Column("entry", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.ForeignKeyConstraint(["entry"], ["history_entries.id"], name="fk_history_entry_names_entry"),
        sa.PrimaryKeyConstraint("entry", "kind", "name", name="pk_history_entry_names")
    )
    op.execute("INSERT INTO history_entry_names (entry, kind, name) SELECT certificate, kind, name FROM history_names")
    op.create_index("ix_history_entry_names_kind_name", "history_entry_names", ["kind", "name", "entry"])
    op.drop_table("history_names")
    op.drop_table("history")
    op.create_table("aggregates",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("document", sa.String(length=71), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["document"], ["documents.digest"], name="fk_aggregates_document"),
        sa.PrimaryKeyConstraint("id", name="pk_aggregates"),
        sa.UniqueConstraint("document", name="uq_aggregates_document")
    )


def downgrade() -> None:
    op.create_table("history",
        sa.Column("certificate", sa.String(length=64), nullable=False),
        sa.Column("suite", sa.String(length=71), nullable=False),
        sa.Column("weighting", sa.String(length=16), nullable=False),
        sa.Column("definition", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        *_rates(),
        sa.Column("summary", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["certificate"], ["certificates.id"], name="fk_history_certificate"),
        sa.PrimaryKeyConstraint("certificate", name="pk_history")
    )
    op.execute(
        f"INSERT INTO history (certificate, suite, weighting, definition, created_at, {COLUMNS}, summary)"
        f" SELECT h.id, h.suite, h.weighting, h.definition, h.created_at, {NUMBERS}, h.summary"
        f" FROM history_entries h WHERE h.status <> 'uncertifiable'"
    )
    mix = ["suite", "weighting", "definition"]
    op.create_index("ix_history_date", "history", [*mix, "created_at", "certificate"])
    op.create_index("ix_history_drop", "history", [*mix, "utility_drop_number", "certificate"])
    op.create_index("ix_history_utility", "history", [*mix, "utility_under_attack_number", "certificate"])
    op.create_table("history_names",
        sa.Column("certificate", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.ForeignKeyConstraint(["certificate"], ["history.certificate"], name="fk_history_names_certificate"),
        sa.PrimaryKeyConstraint("certificate", "kind", "name", name="pk_history_names")
    )
    op.execute(
        "INSERT INTO history_names (certificate, kind, name)"
        " SELECT entry, kind, name FROM history_entry_names WHERE entry IN (SELECT certificate FROM history)"
    )
    op.create_index("ix_history_names_kind_name", "history_names", ["kind", "name", "certificate"])
    op.drop_table("history_entry_names")
    op.drop_table("history_entries")
    op.drop_table("aggregates")
