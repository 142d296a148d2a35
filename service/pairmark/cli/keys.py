"""`pairmark keys`: make, show, rotate and revoke the keys that sign."""

from __future__ import annotations

import os
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.console import clean, say, say_all, table
from pairmark.cli.db import DatabaseUrl, DataFolder
from pairmark.cli.exit_codes import OK

if TYPE_CHECKING:
    from pairmark.adapters.keys import ExternalKey
    from pairmark.provenance.trust import RoleName, TrustChain, TrustedKey

PASSPHRASE = "PAIRMARK_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable

app = typer.Typer(help="The keys that sign, and for which part of the log.", no_args_is_help=False)


class Role(StrEnum):
    """What a key may sign."""

    ROOT = "root"
    CERTIFIER = "certifier"
    REVOKER = "revoker"
    LOG = "log"


KeysFolder = Annotated[
    Path | None,
    typer.Option("--keys", metavar="DIR", help="Folder of the keys.  [env: PAIRMARK_KEYS; default: keys/ in the data folder]"),
]
RoleArgument = Annotated[Role, typer.Argument(metavar="ROLE", help="root, certifier, revoker or log.")]
FromIndex = Annotated[
    int | None,
    typer.Option(
        "--from-index", metavar="N", min=0,
        help="First log index that the new key signs for; by default the number of entries the log has now, asked of its database or service.",
    ),
]
Service = Annotated[
    str | None, typer.Option("--service", metavar="URL", help="Ask this service how many entries the log has, instead of the database.")
]
Uri = Annotated[
    str | None,
    typer.Option("--uri", metavar="URI", help="The new key is not a file here but one that securesystemslib signs with, such as hsm:2 or hv:NAME/1."),
]
Public = Annotated[
    str | None, typer.Option("--public", metavar="FILE|HEX", help="With --uri: its public half, a PEM file or its raw bytes in hex.")
]
Elsewhere = Annotated[
    list[str] | None,
    typer.Option(
        "--elsewhere", metavar="ROLE=URI=FILE|HEX", help="A role's key that is not a file here: its URI and its public half. May be given again."
    ),
]
Prompt = Annotated[bool, typer.Option("--prompt", help=f"Ask for the passphrase instead of reading {PASSPHRASE}.")]


def folder_of(keys: Path | None, data: Path | None = None) -> Path:
    """The folder of keys: as given, else from the environment, else in the data folder."""
    if keys is not None:
        return keys
    named = os.environ.get("PAIRMARK_KEYS")
    return Path(named) if named else (data or Path(os.environ.get("PAIRMARK_DATA_DIR") or "pairmark-data")) / "keys"


def passphrase_of(prompt: bool, *, confirm: bool = False) -> bytes | None:
    """The passphrase of the key files; none where none is set. Where nobody sits at a terminal it is read from lines of standard input."""
    if not prompt:
        words = os.environ.get(PASSPHRASE)
        return words.encode() if words else None
    if sys.stdin is not None and sys.stdin.isatty():
        typed: str = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
        return typed.encode()
    return _piped(2 if confirm else 1)


def _piped(times: int) -> bytes:
    from pairmark.domain.errors import Malformed

    lines = [] if sys.stdin is None else [sys.stdin.buffer.readline().rstrip(b"\r\n") for _ in range(times)]
    if len(set(lines)) != 1 or not lines[0]:
        expected = "a passphrase" if times == 1 else "the same passphrase on two lines"
        raise Malformed(
            "no-passphrase", f"expected {expected} on standard input (--prompt), found none" + (" or another" if times > 1 else ""),
            remedy=f"type it at a terminal, or set {PASSPHRASE} instead",
        )
    return lines[0]


@app.command("init")
def init(
    origin: Annotated[
        str, typer.Option("--origin", metavar="NAME", help="The log's name, for ever, such as example.org/pairmark; no spaces, no plus.")
    ],
    keys: KeysFolder = None,
    prompt: Prompt = False,
    elsewhere: Elsewhere = None,
) -> int:
    """Make one key for each role and the first trust root. The digest it prints is what others pin: publish it."""
    from pairmark.adapters.keys import init_keys

    folder = folder_of(keys)
    secret = passphrase_of(prompt, confirm=True)
    chain = init_keys(folder, origin, secret, external=_elsewhere(elsewhere or []))
    say(f"keys in {clean(folder)}, {'encrypted' if secret is not None else 'not encrypted'}; keep root.pem elsewhere, offline")
    say(f"root digest  {chain.root_digest}")
    return OK


@app.command("show")
def show(keys: KeysFolder = None) -> int:
    """Show which key may sign what, and for which log indices."""
    from pairmark.adapters.keys import read_chain

    _show(read_chain(folder_of(keys)))
    return OK


def _show(chain: TrustChain) -> None:
    root = chain.current
    say(f"{clean(root.origin)}  version {root.version}")
    say(f"root digest  {chain.root_digest}")
    rows = [("role", "signatures needed", "key", "signs for log indices")]
    for role in Role:
        named = root.role(_name(role))
        for keyid in named.keyids:
            key = root.keys[keyid]
            rows.append((role.value, str(named.threshold), keyid, "any" if role is Role.ROOT else _window(key)))
    say_all(table(rows))


def _window(key: TrustedKey) -> str:
    if key.valid_until is None:
        return f"{key.valid_from} and later"
    return "none any more" if key.valid_until == key.valid_from else f"{key.valid_from}–{key.valid_until - 1}, none later"


def _name(role: Role) -> RoleName:
    from pairmark.provenance.trust import ROLES

    return next(name for name in ROLES if name == role.value)


@app.command("rotate")
def rotate(
    role: RoleArgument,
    from_index: FromIndex = None,
    keys: KeysFolder = None,
    prompt: Prompt = False,
    uri: Uri = None,
    public: Public = None,
    data: DataFolder = None,
    database: DatabaseUrl = None,
    service: Service = None,
) -> int:
    """Give a role a new key. What the old one signed before stays valid; stop the service first."""
    from pairmark.adapters.keys import rotate as make
    from pairmark.cli.log_size import log_size

    folder, external = folder_of(keys, data), _external(uri, public)
    index = log_size(folder, data=data, database=database, service=service) if from_index is None else from_index
    chain = make(folder, _name(role), index, passphrase_of(prompt), external=external)
    _changed(chain, role, index)
    return OK


@app.command("revoke")
def revoke(
    role: RoleArgument,
    from_index: FromIndex = None,
    keys: KeysFolder = None,
    prompt: Prompt = False,
    uri: Uri = None,
    public: Public = None,
    data: DataFolder = None,
    database: DatabaseUrl = None,
    service: Service = None,
) -> int:
    """Take trust from a stolen key from a log index on. What it signed there stops verifying; stop the service first.

    Without --from-index nothing that is in the log already loses its trust: give the index of the first entry that a thief can have signed.
    """
    from pairmark.adapters.keys import revoke as make
    from pairmark.cli.log_size import log_size

    folder, external = folder_of(keys, data), _external(uri, public)
    index = log_size(folder, data=data, database=database, service=service) if from_index is None else from_index
    chain = make(folder, _name(role), index, passphrase_of(prompt), external=external)
    _changed(chain, role, index, revoked=True)
    if from_index is None and role is not Role.ROOT:
        say(f"the {index} entries that are in the log keep their trust; if the thief can have signed one of them, revoke again with --from-index")
    return OK


def _external(uri: str | None, public: str | None) -> ExternalKey | None:
    from pairmark.adapters.keys import ExternalKey
    from pairmark.domain.errors import Malformed

    if uri is None and public is None:
        return None
    if uri is None or public is None:
        raise Malformed("invalid-key", "expected --uri together with --public, found one of them", remedy="give both, or neither for a key file")
    return ExternalKey(uri, _public(public))


def _public(text: str) -> bytes:
    from pairmark.adapters.keys import read_public

    return bytes.fromhex(text) if re.fullmatch(r"[0-9a-f]{64}|04[0-9a-f]{128}", text) else read_public(Path(text))


def _elsewhere(given: list[str]) -> dict[RoleName, ExternalKey]:
    from pairmark.adapters.keys import ExternalKey
    from pairmark.domain.errors import Malformed, shown

    found: dict[RoleName, ExternalKey] = {}
    for text in given:
        role, _, rest = text.partition("=")
        uri, _, public = rest.rpartition("=")
        if role not in list(Role) or not uri or not public or role in found:
            raise Malformed("invalid-key", f"expected ROLE=URI=FILE|HEX, each role once; found {shown(text)}", remedy="pairmark keys init --help")
        found[_name(Role(role))] = ExternalKey(uri, _public(public))
    return found


def _changed(chain: TrustChain, role: Role, from_index: int, *, revoked: bool = False) -> None:
    since = "" if role is Role.ROOT else f" from log index {from_index} on"
    version = f"trust root version {chain.current.version}: "
    if revoked:
        for keyid in _closed(chain, _name(role)):
            say(f"{version}key {keyid} of role {role.value} is revoked{since}: what it signed there verifies no more")
        version = ""
    say(f"{version}role {role.value} has a new key{since}")
    say("publish the new trust.json; whoever pinned the first root follows to it")


def _closed(chain: TrustChain, role: RoleName) -> list[str]:
    """Ids of the keys that the newest version took trust from, or took away trust that it still had."""
    before, now = chain.roots[-2], chain.current
    kept = now.role(role).keyids
    return [keyid for keyid in before.role(role).keyids if keyid not in kept or before.keys[keyid].valid_until != now.keys[keyid].valid_until]
