"""The service: requests in, one use case each, answers out."""
