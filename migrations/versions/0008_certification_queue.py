"""Progress and cancelling of queued certifications; on PostgreSQL the tables of the queue's library too."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

NUMBERS = ("done", "steps", "percent", "begun")


def upgrade() -> None:
    with op.batch_alter_table("certification_jobs") as table:
        table.add_column(sa.Column("stage", sa.String(length=16), nullable=False, server_default="queued"))
        for name in NUMBERS:
            table.add_column(sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.create_table("cancelled_certifications",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("cancelled_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cancelled_certifications")
    )
    if op.get_bind().dialect.name == "postgresql":
        # What waits from before is put into the queue by the first worker that looks.
        from pairmark.adapters.jobs.schema import bring_up

        bring_up(op.get_bind())


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        from pairmark.adapters.jobs.schema import remove

        remove(op.get_bind())
    op.drop_table("cancelled_certifications")
    with op.batch_alter_table("certification_jobs") as table:
        for name in reversed(NUMBERS):
            table.drop_column(name)
        table.drop_column("stage")
