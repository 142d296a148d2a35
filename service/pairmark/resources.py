"""Finds the data folders that belong to Pairmark: at the top of a checkout, or inside the installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

DataFolder = Literal["migrations", "schemas", "manifests"]

PACKAGED = "_data"
"""Folder of the package that the wheel carries the data folders in."""


def data_folder(name: DataFolder, *, package: Path | None = None) -> Path:
    """The folder `name`, read-only by convention.

    A checkout is recognised by `pyproject.toml` beside the source folder `service/`, so an editable installation reads the
    checkout's own files. Everywhere else the folders lie in the package, as the wheel brought them.

    Args:
        name: which folder.
        package: folder of the package `pairmark`; for tests.

    Raises:
        FileNotFoundError: the folder is neither here nor there: the installation is incomplete.
    """
    home = Path(__file__).resolve().parent if package is None else package
    source, top = home.parent, home.parent.parent
    checkout = source.name == "service" and (top / "pyproject.toml").is_file()
    found = top / name if checkout else home / PACKAGED / name
    if not found.is_dir():
        raise FileNotFoundError(
            f"expected Pairmark's data folder {name!r} at {found}, found none; "
            + ("restore it from version control" if checkout else "install the pairmark wheel again")
        )
    return found
