"""Suite manifests as result files show them, for benchmarks that no package exports."""
