"""The database: tables, one transaction per request, migrations."""
