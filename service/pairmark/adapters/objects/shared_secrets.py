"""Row secrets beside the objects, so that every server of a deployment salts a ledger's rows alike.

Whoever may read the bucket reads the rows themselves: the secret protects rows from those who hold a certificate, not from the store.
"""

from __future__ import annotations

import secrets
from contextlib import suppress

from pairmark.adapters.ledgers.row_secrets import RowSecrets
from pairmark.adapters.objects.s3 import S3Place, answering, client_of
from pairmark.domain.errors import Malformed
from pairmark.provenance.rows import SECRET_SIZE


class SharedRowSecrets(RowSecrets):
    """Secrets under `row-secrets/` of a bucket and prefix; of two that are made at once the first stays."""

    def __init__(self, place: S3Place) -> None:
        self._client = client_of(place)

    def of(self, ledger: str) -> bytes:
        """The secret of a ledger; made when it is first asked for, and stored when this returns.

        Raises:
            Malformed: the stored secret is damaged.
            Unavailable: the store does not answer.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        key = f"row-secrets/{ledger.removeprefix('sha256:')}"
        with answering("keep the secret of a ledger's rows"):
            try:
                found = bytes(obstore.get(self._client, key).bytes())
            except FileNotFoundError:
                with suppress(AlreadyExistsError):
                    obstore.put(self._client, key, secrets.token_bytes(SECRET_SIZE), mode="create", use_multipart=False)
                found = bytes(obstore.get(self._client, key).bytes())
        if len(found) != SECRET_SIZE:
            raise Malformed(
                "bad-row-secret", f"expected a secret of {SECRET_SIZE} bytes, found {len(found)}", key, remedy="restore it from a backup"
            )
        return found
