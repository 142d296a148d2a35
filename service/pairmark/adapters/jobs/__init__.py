"""The queue on PostgreSQL: procrastinate's tables, beside Pairmark's own, which stay the source of truth."""
