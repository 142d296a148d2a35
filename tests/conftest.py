"""What every test stands on: the repository's folder, the shared material where it exists, no network, repeatable examples."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import empty_url, kind, migrated_url  # noqa: F401 - fixtures for every folder

REPOSITORY = Path(__file__).resolve().parents[1]

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """Top of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of reference values and real harness output that lies beside a development checkout; skips where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder of reference material is not beside this checkout")
    return folder


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket's path
    host = str(address[0])
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Any:
    """Nothing leaves this machine: a connection elsewhere, or a look-up of a foreign name, fails the test that makes it."""

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, address: Any) -> Any:
            if not _is_local(address):
                raise OSError(f"tests may only connect to this machine, not to {address!r}")
            return original(self, address)

        return call

    def resolve(host: Any, *rest: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and not _is_local((name,)):
            raise socket.gaierror(f"tests may not look up {name!r}")
        return original_resolve(host, *rest, **options)

    original_resolve = socket.getaddrinfo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
        patch.setattr(socket, "getaddrinfo", resolve)
        yield


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes that are no text are named by their number: an archive holds the time it was made, and processes must agree on names."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test that asks for no kind of database has SQLite, in whatever order tests run."""
    from tests.databases import only_sqlite

    with only_sqlite("kind" not in getattr(item, "fixturenames", ())):
        return (yield)
