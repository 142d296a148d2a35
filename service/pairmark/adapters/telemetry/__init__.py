"""What an operator sees of the running service: logs, numbers and traces, and no secret in any of them."""
