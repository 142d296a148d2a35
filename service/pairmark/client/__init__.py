"""A small typed client of the service."""

from pairmark.client.client import Client
from pairmark.client.connection import Reply
from pairmark.client.errors import NoAnswer, ProblemError

__all__ = ["Client", "NoAnswer", "ProblemError", "Reply"]
