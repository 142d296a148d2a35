"""Keys that are not files here: in a hardware module, a key service or a vault, named by a URI that `securesystemslib` can sign with.

`<role>.uri` stands in place of `<role>.pem`: a JSON object with `uri` and `public`, the key's raw bytes in hex (see
`pairmark.provenance.public_keys`). What a module wants to be told before it signs, its PIN, comes from the environment.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pydantic import ValidationError

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Identifier, Strict, malformed_from
from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.domain.strict_json import parse
from pairmark.provenance import p256
from pairmark.provenance.public_keys import SCHEMES, key_id, key_type, require_sound, verifies
from pairmark.provenance.trust import PublicHex

MAX_BYTES = 65_536
PIN = "PAIRMARK_KEY_PIN"
"""Environment variable with what a key's keeper asks for before it signs: the PIN of a token."""


class _ExternalKey(Strict):
    uri: Identifier
    public: PublicHex


@dataclass(frozen=True)
class ExternalKey:
    """A key by its URI, with its public bytes."""

    uri: str
    public: bytes

    def content(self) -> bytes:
        """The file that names it."""
        return canonical_bytes({"uri": self.uri, "public": self.public.hex()}) + b"\n"

    def require_storable(self) -> None:
        """Raise Malformed where the file that names it could not be read back."""
        try:
            _ExternalKey.model_validate_json(self.content())
        except (ValidationError, ValueError):
            raise Malformed(
                "invalid-key", f"expected a URI of 1 to 1024 printable characters and a public key, found {shown(self.uri)}", remedy="check the URI"
            ) from None

    def signer(self) -> Callable[[bytes], bytes]:
        """A function that signs with it; every signature is checked before it is used.

        Raises:
            Malformed: the package is not installed, the URI is unknown to it, or the key signs wrongly.
        """
        try:
            signing: Any = importlib.import_module("securesystemslib.signer")
        except ImportError:
            raise Malformed(
                "no-securesystemslib", f"expected the package securesystemslib, which signs with {shown(self.uri)}; found none",
                remedy="install the extra hsm (pip install 'pairmark[hsm]') and what your key service needs, or use a key file",
            ) from None
        require_sound(self.public)
        kind = key_type(self.public)
        named = self.public.hex() if kind == "ed25519" else p256.public_pem(self.public).decode()
        key = signing.SSlibKey(key_id(self.public), kind, SCHEMES[kind], {"public": named})
        try:
            signer: Any = signing.Signer.from_priv_key_uri(self.uri, key, _secret)
        except Exception as problem:  # noqa: BLE001 - each key service raises its own
            raise self._unusable(problem) from None

        def sign(message: bytes) -> bytes:
            try:
                signature = bytes.fromhex(signer.sign(message).signature)
                if kind == "ecdsa":
                    signature = p256.canonical_signature(signature)
            except Malformed:
                raise
            except Exception as problem:  # noqa: BLE001 - each key service raises its own
                raise self._unusable(problem) from None
            if not verifies(self.public, signature, message):
                raise Malformed("wrong-key", f"expected a signature of {key_id(self.public)}, found one of another key", remedy="check the URI")
            return signature

        return sign

    def _unusable(self, problem: Exception) -> Malformed:
        return Malformed(
            "unusable-key", f"expected a key at {shown(self.uri)}, found: {type(problem).__name__}: {one_line(str(problem), 200)}",
            remedy="check the URI and what the key service needs",
        )


def _secret(what: str) -> str:
    found = os.environ.get(PIN)
    if not found:
        raise Malformed("no-pin", f"expected the {what} of the key's keeper, found none", remedy=f"set {PIN}")
    return found


def read_external(path: Path) -> ExternalKey:
    """Read `<role>.uri`.

    Raises:
        Malformed: missing, or another shape.
    """
    data = _read(path)
    parse(data, file=str(path))
    try:
        found = _ExternalKey.model_validate_json(data)
    except ValidationError as problem:
        raise malformed_from(problem, data, str(path)) from None
    return ExternalKey(found.uri, bytes.fromhex(found.public))


def read_public(path: Path) -> bytes:
    """The raw bytes of a public key in a PEM file (SubjectPublicKeyInfo), as key services and tokens hand it out.

    Raises:
        Malformed: missing, or neither an Ed25519 nor a P-256 key.
    """
    try:
        key = load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if isinstance(key, Ed25519PublicKey):
        return key.public_bytes_raw()
    if isinstance(key, EllipticCurvePublicKey):
        return p256.public_bytes(key)
    raise Malformed(
        "invalid-key", "expected an Ed25519 or P-256 public key in PEM, found something else", str(path), remedy="export the key's public half again"
    )


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES)
    except OSError as problem:
        raise Malformed("unreadable-key", f"expected a key, found: {problem.strerror}", str(path), remedy="check the path") from None
