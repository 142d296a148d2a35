"""What use cases reach the world through: SQL, ledgers, the quality gate, harness packages."""
