"""What finds the verdicts that wait for a reviewer, and the disproofs that answered them."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_certifications_verdict_created_at_id", "certifications", ["verdict", "created_at", "id"])
    op.create_index("ix_certifications_disproves", "certifications", ["disproves"])


def downgrade() -> None:
    op.drop_index("ix_certifications_disproves", table_name="certifications")
    op.drop_index("ix_certifications_verdict_created_at_id", table_name="certifications")
