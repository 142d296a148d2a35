"""Verifying a certificate offline, with nothing of the service: no database, no web framework, no network."""

from pairmark.verify.memory import Memory
from pairmark.verify.result import STEPS, Outcome, Step, Verification
from pairmark.verify.verifying import verify_bundle

__all__ = ["STEPS", "Memory", "Outcome", "Step", "Verification", "verify_bundle"]
