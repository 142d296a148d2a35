"""The installed importers by name."""

from __future__ import annotations

from functools import cache

import pairmark.importers
from pairmark.domain.discovery import discover
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.base import Importer


@cache
def installed_importers() -> dict[str, Importer]:
    """Every importer found, by name."""
    found: dict[str, Importer] = {}
    for plugin in discover(pairmark.importers, "IMPORTER"):
        if not isinstance(plugin, Importer):
            raise TypeError(f"expected IMPORTER to be an Importer, found {plugin!r}")
        if plugin.name in found:
            raise ValueError(f"two importers are called {plugin.name}")
        found[plugin.name] = plugin
    return found


def importer_of(name: str) -> Importer:
    """The importer of that name.

    Raises:
        Malformed: there is none; the message lists those there are.
    """
    importer = installed_importers().get(name)
    if importer is None:
        known = ", ".join(installed_importers())
        raise Malformed("unknown-harness", f"expected one of {known}, found {shown(name)}", remedy="name one of them")
    return importer
