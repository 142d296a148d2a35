"""Publishing the transparency log: signing its heads, and the mark outside the database that keeps it from forking."""
