"""A small typed client of the service."""

from pairmark.client.client import Client, Reply
from pairmark.client.errors import NoAnswer, ProblemError

__all__ = ["Client", "NoAnswer", "ProblemError", "Reply"]
