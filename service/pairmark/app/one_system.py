"""Arms of two systems, by the names that the harness itself gives them: a mistyped path is the easiest mistake, and one `--system` file for both hides it."""

from __future__ import annotations

from pairmark.domain.errors import Malformed, shown
from pairmark.importers.base import Imported


def refuse_two_systems(benign: Imported, attacked: Imported) -> None:
    """Refuse arms of which the harness calls the system by other names, wherever it says them.

    Raises:
        Malformed: `two-systems`, with the names of each.
    """
    if benign.called and attacked.called and not benign.called & attacked.called:
        raise Malformed(
            "two-systems",
            f"expected both arms of one system, found that of {_listed(benign.called)} benign and that of {_listed(attacked.called)} attacked",
            remedy="give both arms from one pipeline; where one was logged under two names, import each arm for itself",
        )


def _listed(names: frozenset[str]) -> str:
    return ", ".join(shown(name) for name in sorted(names))
