"""The transparency log: entries, tree, checkpoints; triggers that keep what was logged."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEPT = ("log_entries", "log_nodes", "log_subjects", "log_checkpoints", "certificate_releases")
GIVEN = {
    "log_entries": 'EXISTS (SELECT 1 FROM log_entries WHERE "index" = NEW."index")',
    "log_nodes": 'EXISTS (SELECT 1 FROM log_nodes WHERE level = NEW.level AND "index" = NEW."index")',
    "log_subjects": 'EXISTS (SELECT 1 FROM log_subjects WHERE subject = NEW.subject AND "index" = NEW."index")',
    "log_checkpoints": "EXISTS (SELECT 1 FROM log_checkpoints WHERE size = NEW.size)",
    "certificate_releases": 'EXISTS (SELECT 1 FROM certificate_releases WHERE certificate = NEW.certificate OR "index" = NEW."index")',
    "log_head": "EXISTS (SELECT 1 FROM log_head)",
}
NEXT = 'NEW."index" <> (SELECT size FROM log_head)'
SHRINKS = "NEW.size <= OLD.size OR NEW.id <> OLD.id"
REFUSAL = "the log is append-only: expected no change to"


def upgrade() -> None:
    op.create_table("log_entries",
        sa.Column("index", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.Column("envelope", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("index", name="pk_log_entries")
    )
    op.create_table("log_nodes",
        sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("index", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("level", "index", name="pk_log_nodes")
    )
    op.create_table("log_subjects",
        sa.Column("subject", sa.String(length=128), nullable=False),
        sa.Column("index", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(["index"], ["log_entries.index"], name="fk_log_subjects_index"),
        sa.PrimaryKeyConstraint("subject", "index", name="pk_log_subjects")
    )
    head = op.create_table("log_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("root", sa.LargeBinary(length=32), nullable=False),
        sa.CheckConstraint("id = 1", name="ck_log_head_one_row"),
        sa.PrimaryKeyConstraint("id", name="pk_log_head")
    )
    op.create_table("log_checkpoints",
        sa.Column("size", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("note", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("size", name="pk_log_checkpoints")
    )
    op.create_table("certificate_releases",
        sa.Column("certificate", sa.String(length=64), nullable=False),
        sa.Column("index", sa.BigInteger(), nullable=False),
        sa.Column("svr", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["certificate"], ["certificates.id"], name="fk_certificate_releases_certificate"),
        sa.ForeignKeyConstraint(["index"], ["log_entries.index"], name="fk_certificate_releases_index"),
        sa.PrimaryKeyConstraint("certificate", name="pk_certificate_releases"),
        sa.UniqueConstraint("index", name="uq_certificate_releases_index")
    )
    op.bulk_insert(head, [{"id": 1, "size": 0, "root": hashlib.sha256(b"").digest()}])
    if op.get_bind().dialect.name == "postgresql":
        _guard_postgresql()
    else:
        _guard_sqlite()


def _guard_sqlite() -> None:
    def guard(table: str, name: str, when: str, condition: str = "") -> None:
        op.execute(
            f"CREATE TRIGGER {table}_{name} BEFORE {when} ON {table} {condition}"
            f" BEGIN SELECT RAISE(ABORT, '{REFUSAL} {table}'); END"
        )

    for table in KEPT:
        guard(table, "no_update", "UPDATE")
        guard(table, "no_delete", "DELETE")
    for table, exists in GIVEN.items():  # INSERT OR REPLACE removes a row without asking the DELETE trigger
        guard(table, "no_replace", "INSERT", f"WHEN {exists}")
    guard("log_entries", "in_order", "INSERT", f"WHEN {NEXT}")
    guard("log_head", "only_grows", "UPDATE", f"WHEN {SHRINKS}")
    guard("log_head", "no_delete", "DELETE")


def _guard_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION pairmark_log_refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION '{REFUSAL} %', TG_TABLE_NAME; END $$"
    )
    op.execute(
        "CREATE FUNCTION pairmark_log_in_order() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN IF {NEXT} THEN RAISE EXCEPTION '{REFUSAL} log_entries'; END IF; RETURN NEW; END $$"
    )
    for table in (*KEPT, "log_head"):
        when = "DELETE" if table == "log_head" else "UPDATE OR DELETE"
        op.execute(
            f"CREATE TRIGGER {table}_kept BEFORE {when} ON {table} FOR EACH ROW EXECUTE FUNCTION pairmark_log_refuse()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_not_emptied BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION pairmark_log_refuse()"
        )
    op.execute(
        f"CREATE TRIGGER log_head_only_grows BEFORE UPDATE ON log_head FOR EACH ROW WHEN ({SHRINKS})"
        " EXECUTE FUNCTION pairmark_log_refuse()"
    )
    op.execute(
        "CREATE TRIGGER log_entries_in_order BEFORE INSERT ON log_entries FOR EACH ROW EXECUTE FUNCTION pairmark_log_in_order()"
    )


def downgrade() -> None:
    for table in ("certificate_releases", "log_checkpoints", "log_head", "log_subjects", "log_nodes", "log_entries"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION pairmark_log_in_order()")
        op.execute("DROP FUNCTION pairmark_log_refuse()")
