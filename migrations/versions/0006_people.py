"""People: organisations, members, keys; whose a run is; what is published; an audit log that nobody rewrites."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0004"
branch_labels = None
depends_on = None

REFUSAL = "the audit log is append-only: expected no change to"


def upgrade() -> None:
    op.create_table("organisations",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_organisations"),
        sa.UniqueConstraint("name", name="uq_organisations_name")
    )
    op.create_table("members",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.Column("roles", sa.String(length=128), nullable=False),
        sa.Column("issuer", sa.String(length=256), nullable=True),
        sa.Column("subject", sa.String(length=256), nullable=True),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("removed_at", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["organisation"], ["organisations.id"], name="fk_members_organisation"),
        sa.PrimaryKeyConstraint("id", name="pk_members"),
        sa.UniqueConstraint("issuer", "subject", name="uq_members_issuer_subject")
    )
    op.create_index("ix_members_organisation", "members", ["organisation"])
    op.create_table("api_keys",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("member", sa.String(length=64), nullable=False),
        sa.Column("label", sa.String(length=256), nullable=False),
        sa.Column("secret_digest", sa.String(length=71), nullable=False),
        sa.Column("scopes", sa.String(length=128), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("expires_at", sa.String(length=32), nullable=True),
        sa.Column("last_used_at", sa.String(length=32), nullable=True),
        sa.Column("revoked_at", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["member"], ["members.id"], name="fk_api_keys_member"),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys")
    )
    op.create_index("ix_api_keys_member", "api_keys", ["member"])
    op.create_table("run_owners",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_run_owners_run"),
        sa.PrimaryKeyConstraint("run", name="pk_run_owners")
    )
    op.create_index("ix_run_owners_organisation", "run_owners", ["organisation"])
    op.create_table("publications",
        sa.Column("certificate", sa.String(length=64), nullable=False),
        sa.Column("episodes", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.CheckConstraint("episodes IN ('public', 'private')", name="ck_publications_episodes"),
        sa.ForeignKeyConstraint(["certificate"], ["certificates.id"], name="fk_publications_certificate"),
        sa.PrimaryKeyConstraint("certificate", name="pk_publications")
    )
    op.create_table("audit_log",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=True),
        sa.Column("member", sa.String(length=64), nullable=True),
        sa.Column("key", sa.String(length=64), nullable=True),
        sa.Column("via", sa.String(length=16), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=True),
        sa.Column("request", sa.String(length=128), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("changes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_log")
    )
    op.create_index("ix_audit_log_order", "audit_log", ["at", "id"])
    op.create_index("ix_audit_log_organisation", "audit_log", ["organisation", "at", "id"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION pairmark_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN RAISE EXCEPTION '{REFUSAL} %', TG_TABLE_NAME; END $$"
        )
        op.execute("CREATE TRIGGER audit_log_kept BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION pairmark_audit_refuse()")
        op.execute("CREATE TRIGGER audit_log_not_emptied BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION pairmark_audit_refuse()")
    else:
        for name, when, condition in (
            ("no_update", "UPDATE", ""), ("no_delete", "DELETE", ""),
            ("no_replace", "INSERT", "WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = NEW.id)"),
        ):
            op.execute(
                f"CREATE TRIGGER audit_log_{name} BEFORE {when} ON audit_log {condition} BEGIN SELECT RAISE(ABORT, '{REFUSAL} audit_log'); END"
            )


def downgrade() -> None:
    for table in ("audit_log", "publications", "run_owners", "api_keys", "members", "organisations"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION pairmark_audit_refuse()")
