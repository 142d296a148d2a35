"""How many entries of history stand where, so that a page need not count what it leaves out."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("history_tallies",
        sa.Column("suite_name", sa.String(length=256), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("suite", sa.String(length=71), nullable=False),
        sa.Column("definition", sa.String(length=64), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("suite_name", "status", "suite", "definition", name="pk_history_tallies")
    )
    op.execute(
        "INSERT INTO history_tallies (suite_name, status, suite, definition, entries)"
        " SELECT suite_name, status, suite, definition, COUNT(*) FROM history_entries GROUP BY suite_name, status, suite, definition"
    )


def downgrade() -> None:
    op.drop_table("history_tallies")
