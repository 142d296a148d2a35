"""Offline verification as a ratio to what it is made of, and the replay of a log: `python bench/verifying.py [ENTRIES]`.

Bounds: without artifacts at most twice the sum of its signature checks, JSON parses and canonicalisations alone; the log in one pass.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.checkpoint import Checkpoint
from pairmark.provenance.ed25519 import public_bytes
from pairmark.provenance.entries import Announcement, entry_bytes
from pairmark.provenance.log_export import export_lines, replay
from pairmark.provenance.merkle import leaf_hash, reader_of, root
from pairmark.provenance.note import NoteKey
from pairmark.provenance.trust import parse_trust
from pairmark.verify import verify_bundle

CORPUS = Path(__file__).parents[1] / "tests" / "verify" / "corpus"
ROUNDS = 50
DIGEST = "sha256:" + "a" * 64


def seconds(work: Callable[[], object]) -> float:
    """The least of some rounds."""
    return min(_once(work) for _ in range(ROUNDS))


def _once(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def parts(data: bytes, trust: bytes) -> Callable[[], None]:
    """Every signature that is checked, and every document that must be read and written again, with the bare libraries."""
    bundle, chain = parse_bundle(data), parse_trust(trust)
    documents = [data, bundle.certificate.envelope.payload, bundle.svr.payload, bundle.certificate.entry, trust]
    documents += [envelope.payload for envelope in chain.envelopes]
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    envelopes = [bundle.certificate.envelope, bundle.svr, *chain.envelopes]
    messages = [envelope.payload for envelope in envelopes for _ in envelope.signatures] + [bundle.certificate.receipt]
    signed = [(message, key.sign(message)) for message in messages]
    public = key.public_key()

    def work() -> None:
        for message, signature in signed:
            public.verify(signature, message)
        for document in documents:
            rfc8785.dumps(json.loads(document))

    return work


def long_log(entries: int) -> bytes:
    """An exported log of announcements."""
    lines = [
        entry_bytes(Announcement(run=f"run-{at}", document=DIGEST, suite=DIGEST, system=DIGEST, arm="benign", after_the_fact=False, at="2026-01-22T07:00:00Z"))
        for at in range(entries)
    ]
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    head = Checkpoint("bench", entries, root(reader_of([leaf_hash(line) for line in lines]), entries))
    return b"".join(export_lines(((line, None) for line in lines), head.signed(NoteKey("bench", public_bytes(key)), key.sign)))


def main(arguments: list[str]) -> int:
    """Print both; 1 if verification costs more than twice its parts."""
    entries = int(arguments[0]) if arguments else 10_000
    data, trust = ((CORPUS / name).read_bytes() for name in ("certificate.json", "trust.json"))
    whole, alone = seconds(lambda: verify_bundle(data, trust=trust)), seconds(parts(data, trust))
    print(f"verification without artifacts {whole * 1000:.2f} ms, {whole / alone:.2f} × its parts alone ({alone * 1000:.2f} ms); bound 2")
    log = long_log(entries)
    read = _once(lambda: replay(log))
    found = replay(log)
    rooted = _once(lambda: root(reader_of(found.leaves), entries))
    print(f"replay of a log of {entries} entries {read:.2f} s, its root {rooted:.3f} s")
    return 0 if whole <= 2 * alone else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
