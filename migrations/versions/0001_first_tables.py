"""Suites, runs, certifications, certificates, history, idempotency keys, jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("certification_jobs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=71), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("problem", sa.String(length=512), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_certification_jobs"),
        sa.UniqueConstraint("subject", name="uq_certification_jobs_subject")
    )
    op.create_table("documents",
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_documents")
    )
    op.create_table("idempotency_keys",
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=71), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("reserved_at", sa.String(length=32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.LargeBinary(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("key", name="pk_idempotency_keys")
    )
    op.create_index("ix_idempotency_keys_reserved_at", "idempotency_keys", ["reserved_at"])
    op.create_table("runs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("arm", sa.String(length=16), nullable=False),
        sa.Column("suite", sa.String(length=71), nullable=False),
        sa.Column("announcement", sa.String(length=71), nullable=False),
        sa.Column("complete", sa.String(length=71), nullable=True),
        sa.Column("after_the_fact", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.CheckConstraint("arm IN ('benign', 'attacked')", name="ck_runs_arm"),
        sa.ForeignKeyConstraint(["announcement"], ["documents.digest"], name="fk_runs_announcement"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("complete", name="uq_runs_complete")
    )
    op.create_index("ix_runs_suite", "runs", ["suite"])
    op.create_table("suites",
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.Column("version", sa.String(length=256), nullable=False),
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.Column("manifest", sa.String(length=71), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["manifest"], ["documents.digest"], name="fk_suites_manifest"),
        sa.PrimaryKeyConstraint("name", "version", name="pk_suites")
    )
    op.create_index("ix_suites_digest", "suites", ["digest"])
    op.create_index("ix_suites_manifest", "suites", ["manifest"])
    op.create_index("ix_suites_order", "suites", ["created_at", "name", "version"])
    op.create_table("run_amendments",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("document", sa.String(length=71), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["document"], ["documents.digest"], name="fk_run_amendments_document"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_run_amendments_run"),
        sa.PrimaryKeyConstraint("run", "number", name="pk_run_amendments")
    )
    op.create_index("ix_run_amendments_document", "run_amendments", ["document"])
    op.create_table("run_seals",
        sa.Column("run", sa.String(length=64), nullable=False),
        sa.Column("document", sa.String(length=71), nullable=False),
        sa.Column("ledger", sa.String(length=71), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["document"], ["documents.digest"], name="fk_run_seals_document"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_run_seals_run"),
        sa.PrimaryKeyConstraint("run", name="pk_run_seals")
    )
    op.create_index("ix_run_seals_ledger", "run_seals", ["ledger"])
    op.create_table("certifications",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=71), nullable=False),
        sa.Column("benign", sa.String(length=64), nullable=False),
        sa.Column("attacked", sa.String(length=64), nullable=False),
        sa.Column("baseline", sa.String(length=64), nullable=True),
        sa.Column("policy", sa.String(length=71), nullable=False),
        sa.Column("manifest", sa.String(length=71), nullable=False),
        sa.Column("disproof", sa.String(length=71), nullable=True),
        sa.Column("disproves", sa.String(length=64), nullable=True),
        sa.Column("report", sa.String(length=71), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["attacked"], ["run_seals.run"], name="fk_certifications_attacked"),
        sa.ForeignKeyConstraint(["baseline"], ["run_seals.run"], name="fk_certifications_baseline"),
        sa.ForeignKeyConstraint(["benign"], ["run_seals.run"], name="fk_certifications_benign"),
        sa.ForeignKeyConstraint(["disproof"], ["documents.digest"], name="fk_certifications_disproof"),
        sa.ForeignKeyConstraint(["disproves"], ["certifications.id"], name="fk_certifications_disproves"),
        sa.ForeignKeyConstraint(["manifest"], ["documents.digest"], name="fk_certifications_manifest"),
        sa.ForeignKeyConstraint(["policy"], ["documents.digest"], name="fk_certifications_policy"),
        sa.ForeignKeyConstraint(["report"], ["documents.digest"], name="fk_certifications_report"),
        sa.PrimaryKeyConstraint("id", name="pk_certifications"),
        sa.UniqueConstraint("subject", name="uq_certifications_subject")
    )
    op.create_index("ix_certifications_attacked", "certifications", ["attacked"])
    op.create_index("ix_certifications_benign", "certifications", ["benign"])
    op.create_table("certificates",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("certification", sa.String(length=64), nullable=False),
        sa.Column("document", sa.String(length=71), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["certification"], ["certifications.id"], name="fk_certificates_certification"),
        sa.ForeignKeyConstraint(["document"], ["documents.digest"], name="fk_certificates_document"),
        sa.PrimaryKeyConstraint("id", name="pk_certificates"),
        sa.UniqueConstraint("certification", name="uq_certificates_certification")
    )
    op.create_table("history",
        sa.Column("certificate", sa.String(length=64), nullable=False),
        sa.Column("suite", sa.String(length=71), nullable=False),
        sa.Column("weighting", sa.String(length=16), nullable=False),
        sa.Column("definition", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("benign_utility", sa.Text(), nullable=True),
        sa.Column("benign_utility_number", sa.Double(), nullable=True),
        sa.Column("utility_under_attack", sa.Text(), nullable=True),
        sa.Column("utility_under_attack_number", sa.Double(), nullable=True),
        sa.Column("utility_drop", sa.Text(), nullable=True),
        sa.Column("utility_drop_number", sa.Double(), nullable=True),
        sa.Column("attack_success_rate", sa.Text(), nullable=True),
        sa.Column("attack_success_rate_number", sa.Double(), nullable=True),
        sa.Column("summary", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["certificate"], ["certificates.id"], name="fk_history_certificate"),
        sa.PrimaryKeyConstraint("certificate", name="pk_history")
    )
    op.create_index("ix_history_date", "history", ["suite", "weighting", "definition", "created_at", "certificate"])
    op.create_index("ix_history_drop", "history", ["suite", "weighting", "definition", "utility_drop_number", "certificate"])
    op.create_index("ix_history_utility", "history", ["suite", "weighting", "definition", "utility_under_attack_number", "certificate"])
    op.create_table("history_names",
        sa.Column("certificate", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=256), nullable=False),
        sa.ForeignKeyConstraint(["certificate"], ["history.certificate"], name="fk_history_names_certificate"),
        sa.PrimaryKeyConstraint("certificate", "kind", "name", name="pk_history_names")
    )
    op.create_index("ix_history_names_kind_name", "history_names", ["kind", "name", "certificate"])



def downgrade() -> None:
    op.drop_table("history_names")
    op.drop_table("history")
    op.drop_table("certificates")
    op.drop_table("certifications")
    op.drop_table("run_seals")
    op.drop_table("run_amendments")
    op.drop_table("suites")
    op.drop_table("runs")
    op.drop_table("idempotency_keys")
    op.drop_table("documents")
    op.drop_table("certification_jobs")
