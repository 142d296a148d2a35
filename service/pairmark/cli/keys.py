"""`pairmark keys`: make, show, rotate and revoke the keys that sign."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairmark.cli.console import clean, say, say_all, table
from pairmark.cli.exit_codes import OK

if TYPE_CHECKING:
    from pairmark.adapters.keys import ExternalKey
    from pairmark.provenance.trust import RoleName, TrustChain

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
    int, typer.Option("--from-index", metavar="N", min=0, help="First log index that the new key signs for.")
]
Uri = Annotated[
    str | None, typer.Option("--uri", metavar="URI", help="The new key is not a file here but one that securesystemslib signs with, such as hv:NAME.")
]
Public = Annotated[str | None, typer.Option("--public", metavar="HEX", help="With --uri: its 32 public bytes.")]
Prompt = Annotated[bool, typer.Option("--prompt", help=f"Ask for the passphrase instead of reading {PASSPHRASE}.")]


def folder_of(keys: Path | None) -> Path:
    """The folder of keys: as given, else from the environment, else in the data folder."""
    if keys is not None:
        return keys
    named = os.environ.get("PAIRMARK_KEYS")
    return Path(named) if named else Path(os.environ.get("PAIRMARK_DATA_DIR") or "pairmark-data") / "keys"


def passphrase_of(prompt: bool, *, confirm: bool = False) -> bytes | None:
    """The passphrase of the key files; none where none is set."""
    words: str | None
    words = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True) if prompt else os.environ.get(PASSPHRASE)
    return words.encode() if words else None


@app.command("init")
def init(
    origin: Annotated[
        str, typer.Option("--origin", metavar="NAME", help="The log's name, for ever, such as example.org/pairmark; no spaces, no plus.")
    ],
    keys: KeysFolder = None,
    prompt: Prompt = False,
) -> int:
    """Make one key for each role and the first trust root. The digest it prints is what others pin: publish it."""
    from pairmark.adapters.keys import init_keys

    folder = folder_of(keys)
    secret = passphrase_of(prompt, confirm=True)
    chain = init_keys(folder, origin, secret)
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
    rows = [("role", "needs", "key", "signs for log indices")]
    for role in Role:
        named = root.role(_name(role))
        for keyid in named.keyids:
            key = root.keys[keyid]
            until = "" if key.valid_until is None else str(key.valid_until - 1)
            window = "none" if key.valid_until == key.valid_from else f"{key.valid_from}–{until}"
            rows.append((role.value, f"{named.threshold} of {len(named.keyids)}", keyid, "any" if role is Role.ROOT else window))
    say_all(table(rows))


def _name(role: Role) -> RoleName:
    from pairmark.provenance.trust import ROLES

    return next(name for name in ROLES if name == role.value)


@app.command("rotate")
def rotate(
    role: RoleArgument, from_index: FromIndex, keys: KeysFolder = None, prompt: Prompt = False, uri: Uri = None, public: Public = None
) -> int:
    """Give a role a new key. What the old one signed before stays valid; stop the service first."""
    from pairmark.adapters.keys import rotate as make

    chain = make(folder_of(keys), _name(role), from_index, passphrase_of(prompt), external=_external(uri, public))
    _changed(chain, role, from_index)
    return OK


@app.command("revoke")
def revoke(
    role: RoleArgument, from_index: FromIndex, keys: KeysFolder = None, prompt: Prompt = False, uri: Uri = None, public: Public = None
) -> int:
    """Take trust from a stolen key from a log index on. What it signed there stops verifying; stop the service first."""
    from pairmark.adapters.keys import revoke as make

    chain = make(folder_of(keys), _name(role), from_index, passphrase_of(prompt), external=_external(uri, public))
    _changed(chain, role, from_index)
    return OK


def _external(uri: str | None, public: str | None) -> ExternalKey | None:
    from pairmark.adapters.keys import ExternalKey
    from pairmark.domain.errors import Malformed

    if uri is None and public is None:
        return None
    if uri is None or public is None or re.fullmatch(r"[0-9a-f]{64}", public) is None:
        raise Malformed("invalid-key", "expected --uri and --public with 64 lower-case hex digits", remedy="give both, or neither for a key file")
    return ExternalKey(uri, bytes.fromhex(public))


def _changed(chain: TrustChain, role: Role, from_index: int) -> None:
    since = "" if role is Role.ROOT else f" from log index {from_index} on"
    say(f"trust root version {chain.current.version}: role {role.value} has a new key{since}")
    say("publish the new trust.json; whoever pinned the first root follows to it")
