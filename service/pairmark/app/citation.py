"""A block to quote a certificate by: what it is of, where it stands, and how a reader checks it."""

from __future__ import annotations

import unicodedata

from pairmark.provenance.bundle import Bundle
from pairmark.provenance.checkpoint import checkpoint_of
from pairmark.provenance.note import parse_note
from pairmark.provenance.statement import read_statement


def citation(bundle: Bundle, root_digest: str) -> str:
    """A sentence with the pair of numbers as signed, then BibTeX. `root_digest` is of the log's first trust root."""
    said = read_statement(bundle.certificate.envelope.payload)
    predicate, report = said.predicate, said.value["predicate"]["metrics"]
    receipt = bundle.certificate.parsed_receipt
    origin = _visible(checkpoint_of(parse_note(receipt.checkpoint)).origin)
    rates = "; ".join(f"{name.replace('_', ' ')} {_shown(report[name])}" for name in ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate"))
    label, year = _visible(predicate.suite.labels[0]), predicate.issued_at[:4]
    return (
        f"Pairmark certificate {predicate.serial}, issued {predicate.issued_at[:10]} under policy"
        f" {predicate.policy.name}/{predicate.policy.version}, over {label} ({predicate.suite.digest}), {predicate.pairing.pairs} pairs:"
        f" {rates}. Entry {receipt.index} of the log {origin}; envelope {bundle.certificate.envelope_digest}; trust root {root_digest}."
        " Verify it with `pairmark verify`, and ask for its status before you rely on it.\n\n"
        f"@misc{{{predicate.serial},\n"
        f"  title = {{Utility under attack over {_bibtex(label)}: certificate {predicate.serial}}},\n"
        f"  year = {{{year}}},\n"
        f"  howpublished = {{Pairmark log {_bibtex(origin)}, entry {receipt.index}}},\n"
        f"  note = {{envelope {bundle.certificate.envelope_digest}, trust root {root_digest}}}\n"
        "}\n"
    )


def _shown(number: dict[str, object]) -> str:
    value, interval = number.get("value"), number.get("interval")
    if value is None:
        return f"undefined ({number.get('reason')})"
    if isinstance(interval, dict) and "low" in interval:
        return f"{value} [{interval['low']}, {interval['high']}]"
    return f"{value} (no interval: {interval.get('reason') if isinstance(interval, dict) else 'none'})"


def _visible(text: str) -> str:
    """Text from outside on one line that reads as it is written: what turns its direction, hides or breaks it, as its code point."""
    return "".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _HIDDEN else c for c in text)


_HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
"""Control and format characters (direction marks among them), private and half ones, separators of lines and paragraphs."""


def _bibtex(text: str) -> str:
    """Text without what BibTeX would read as markup."""
    return "".join(f"\\{c}" if c in "%&#_$" else c for c in text if c not in "{}\\")
