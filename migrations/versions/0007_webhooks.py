"""Webhooks, and the outbox of what they are to be told."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("webhooks",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("organisation", sa.String(length=64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(length=128), nullable=False),
        sa.Column("events", sa.String(length=128), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("removed_at", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks")
    )
    op.create_index("ix_webhooks_organisation", "webhooks", ["organisation"])
    op.create_table("webhook_deliveries",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("webhook", sa.String(length=64), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.String(length=32), nullable=False),
        sa.Column("claimed_until", sa.String(length=32), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("problem", sa.String(length=512), nullable=True),
        sa.Column("delivered_at", sa.String(length=32), nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="ck_webhook_deliveries_state"),
        sa.ForeignKeyConstraint(["webhook"], ["webhooks.id"], name="fk_webhook_deliveries_webhook"),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_deliveries")
    )
    op.create_index("ix_webhook_deliveries_due", "webhook_deliveries", ["state", "next_at"])
    op.create_index("ix_webhook_deliveries_order", "webhook_deliveries", ["webhook", "created_at", "id"])


def downgrade() -> None:
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
