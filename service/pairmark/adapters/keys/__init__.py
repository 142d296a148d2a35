"""Signing keys: files by default, made, read, rotated and revoked under a trust root."""

from pairmark.adapters.keys.ceremony import init_keys, revoke, rotate
from pairmark.adapters.keys.external import ExternalKey, read_public
from pairmark.adapters.keys.signers import Signer, Signers, load_signers, read_chain

__all__ = ["ExternalKey", "Signer", "Signers", "init_keys", "load_signers", "read_chain", "read_public", "revoke", "rotate"]
