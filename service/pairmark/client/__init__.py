"""A typed client of the service, waiting (`Client`) or awaited (`AsyncClient`)."""

from pairmark.client.client import AsyncClient, Client
from pairmark.client.errors import NoAnswer, ProblemError
from pairmark.client.steps import Reply

__all__ = ["AsyncClient", "Client", "NoAnswer", "ProblemError", "Reply"]
