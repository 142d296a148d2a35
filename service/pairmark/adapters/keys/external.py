"""Keys that are not files here: in a key service or a vault, named by a URI that `securesystemslib` knows how to sign with.

`<role>.uri` stands in place of `<role>.pem`: a JSON object with `uri` and `public`, the 32 public bytes in hex. Only Ed25519 keys can be used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Identifier, Strict, malformed_from
from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.domain.strict_json import parse
from pairmark.provenance import ed25519
from pairmark.provenance.dsse import key_id
from pairmark.provenance.in_toto import Hex256

MAX_BYTES = 65_536


class _ExternalKey(Strict):
    uri: Identifier
    public: Hex256


@dataclass(frozen=True)
class ExternalKey:
    """A key by its URI, with its public bytes."""

    uri: str
    public: bytes

    def content(self) -> bytes:
        """The file that names it."""
        return canonical_bytes({"uri": self.uri, "public": self.public.hex()}) + b"\n"

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
                remedy="install securesystemslib with the extra of your key service, or use a key file",
            ) from None
        key = signing.SSlibKey(key_id(self.public), "ed25519", "ed25519", {"public": self.public.hex()})
        try:
            signer: Any = signing.Signer.from_priv_key_uri(self.uri, key)
        except Exception as problem:  # noqa: BLE001 - each key service raises its own
            raise self._unusable(problem) from None

        def sign(message: bytes) -> bytes:
            try:
                signature = bytes.fromhex(signer.sign(message).signature)
            except Exception as problem:  # noqa: BLE001 - each key service raises its own
                raise self._unusable(problem) from None
            if not ed25519.verifies(self.public, signature, message):
                raise Malformed("wrong-key", f"expected a signature of {key_id(self.public)}, found one of another key", remedy="check the URI")
            return signature

        return sign

    def _unusable(self, problem: Exception) -> Malformed:
        return Malformed(
            "unusable-key", f"expected a key at {shown(self.uri)}, found: {type(problem).__name__}: {one_line(str(problem), 200)}",
            remedy="check the URI and what the key service needs",
        )


def read_external(path: Path) -> ExternalKey:
    """Read `<role>.uri`.

    Raises:
        Malformed: missing, or another shape.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES)
    except OSError as problem:
        raise Malformed("unreadable-key", f"expected a key, found: {problem.strerror}", str(path), remedy="check the path") from None
    parse(data, file=str(path))
    try:
        found = _ExternalKey.model_validate_json(data)
    except ValidationError as problem:
        raise malformed_from(problem, data, str(path)) from None
    return ExternalKey(found.uri, bytes.fromhex(found.public))
