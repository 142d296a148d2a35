"""Table-shaped quality of episode ledgers: the one place that meets Great Expectations and pandas."""
