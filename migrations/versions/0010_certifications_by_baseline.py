"""What finds the verdicts that use a run as their baseline, as there is for the other roles."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_certifications_baseline", "certifications", ["baseline"])


def downgrade() -> None:
    op.drop_index("ix_certifications_baseline", table_name="certifications")
