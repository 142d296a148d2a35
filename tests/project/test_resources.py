from pathlib import Path
from typing import get_args

import pytest

from pairmark.resources import DataFolder, data_folder

FOLDERS: tuple[DataFolder, ...] = get_args(DataFolder)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_checkout_uses_the_folders_at_its_top(name: DataFolder, repository: Path) -> None:
    assert data_folder(name) == repository / name


@pytest.mark.parametrize("name", FOLDERS)
def test_an_installed_package_uses_the_folders_it_brought(name: DataFolder, tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "pairmark"
    (package / "_data" / name).mkdir(parents=True)
    assert data_folder(name, package=package) == package / "_data" / name


def test_a_project_file_beside_an_installation_is_not_taken_for_a_checkout(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "site-packages" / "pairmark"
    (package / "_data" / "schemas").mkdir(parents=True)
    (tmp_path / "lib" / "pyproject.toml").touch()
    (tmp_path / "lib" / "schemas").mkdir()
    assert data_folder("schemas", package=package) == package / "_data" / "schemas"


def test_an_incomplete_installation_is_named(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "pairmark"
    package.mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="install the pairmark wheel again"):
        data_folder("manifests", package=package)


def test_an_incomplete_checkout_is_named(tmp_path: Path) -> None:
    package = tmp_path / "service" / "pairmark"
    package.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    with pytest.raises(FileNotFoundError, match="restore it from version control"):
        data_folder("manifests", package=package)
