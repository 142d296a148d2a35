"""Answers as tables: CSV, Parquet, LaTeX."""
