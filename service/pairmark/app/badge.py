"""A certificate's status as a small picture. It carries no numbers: those belong with their intervals."""

from __future__ import annotations

from pairmark.provenance.status import CertificateStatus

_SHOWN: dict[CertificateStatus, tuple[str, str]] = {
    "valid": ("certified", "#1a7f37"),
    "superseded": ("superseded", "#9a6700"),
    "revoked": ("revoked", "#b42318"),
}
_CHARACTER, _PADDING, _HEIGHT = 7, 10, 20


def badge_svg(status: CertificateStatus) -> bytes:
    """An SVG document: words as well as a colour, and a title for those who cannot see it."""
    word, colour = _SHOWN[status]
    left, right = (len(text) * _CHARACTER + 2 * _PADDING for text in ("Pairmark", word))
    width = left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" role="img" aria-label="Pairmark: {word}">'
        f"<title>Pairmark: {word}</title>"
        f'<rect width="{left}" height="{_HEIGHT}" fill="#24292f"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{colour}"/>'
        '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">Pairmark</text><text x="{left + right / 2:g}" y="14">{word}</text></g></svg>\n'
    ).encode()
