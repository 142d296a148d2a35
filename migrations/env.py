"""Runs migrations on a connection that Pairmark hands over; `pairmark db upgrade` is the way to call it."""

from alembic import context

from pairmark.adapters.sql.models import METADATA

connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("expected a connection from Pairmark, found none; run `pairmark db upgrade`")

context.configure(
    connection=connection,
    target_metadata=METADATA,
    compare_type=True,
    render_as_batch=connection.dialect.name == "sqlite",
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
