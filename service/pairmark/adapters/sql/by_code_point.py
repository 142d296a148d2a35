"""PostgreSQL text compared by code point, as SQLite and Python do, whatever the database's own collation is.

Otherwise pages would come in another order than on SQLite, and an upgrade of the operating system's collations would break indexes.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

_OTHERS = text(
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), format('%I', c.relname), format('%I', a.attname)"
    " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation l ON l.oid = a.attcollation"
    " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND NOT a.attisdropped AND a.attnum > 0"
    " AND a.atttypid IN ('varchar'::regtype, 'text'::regtype) AND l.collname NOT IN ('C', 'POSIX') AND c.relname = ANY(:tables)"
    " ORDER BY c.relname, a.attnum"
)


def columns_in_another_order(connection: Connection, tables: list[str]) -> list[str]:
    """Text columns of these tables that are compared otherwise, as `table.column`."""
    return [f"{table}.{column}" for table, column, *_ in connection.execute(_OTHERS, {"tables": tables})]


def compare_by_code_point(connection: Connection, tables: list[str]) -> None:
    """Let every text column of these tables be compared by code point. Rewrites indexes, not rows; nothing the second time."""
    changes: dict[str, list[str]] = {}
    for _, _, kind, table, column in connection.execute(_OTHERS, {"tables": tables}).all():
        changes.setdefault(table, []).append(f'ALTER COLUMN {column} TYPE {kind} COLLATE "C"')
    for table, columns in changes.items():
        connection.exec_driver_sql(f"ALTER TABLE {table} {', '.join(columns)}")
