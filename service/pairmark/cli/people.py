"""`pairmark people`: who may use a service."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pairmark.cli.console import clean, say, say_all, table
from pairmark.cli.db import DatabaseUrl, DataFolder, database_url
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl, client_of

app = typer.Typer(help="Who may use a service: members, roles, API keys. Commands read their own key from PAIRMARK_API_KEY.", no_args_is_help=True)


class Role(StrEnum):
    """What a member may do."""

    READER = "reader"
    SUBMITTER = "submitter"
    MAINTAINER = "maintainer"
    REVIEWER = "reviewer"
    ADMIN = "admin"


Organisation = Annotated[
    str | None, typer.Option("--organisation", metavar="ID", help="Another organisation than one's own, for whoever runs the service.")
]


@app.command("admin-key")
def admin_key(data: DataFolder = None, database: DatabaseUrl = None) -> int:
    """Make an admin key in the database.

    For the first one, or when all keys are lost. Prints the key once.
    """
    from pairmark.adapters.sql.database import SqlDatabase
    from pairmark.adapters.sql.ready import require_head
    from pairmark.app.errors import Unavailable
    from pairmark.domain.errors import shown
    from pairmark.http.access import admin_key as make
    from pairmark.http.services import new_id, now

    url = database_url(data, database)
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).is_file():
        raise Unavailable(
            "no-database", f"expected a database of a service, found none at {shown(url.removeprefix('sqlite:///'))}",
            "name the service's folder with --data (PAIRMARK_DATA_DIR), or its database with --database (PAIRMARK_DATABASE_URL)",
        )
    require_head(url)
    opened = SqlDatabase.at(url)
    try:
        token = opened.write(lambda tables: make(tables, "admin made by the operator", new_id, now))
    finally:
        opened.close()
    say(token)
    return OK


@app.command("whoami")
def whoami(service: ServiceUrl = DEFAULT_SERVICE) -> int:
    """Say whom the service takes you for, and what you may do."""
    with client_of(service) as client:
        me = client.people.me()
    may = f"may {', '.join(me.permissions) or 'nothing'}"
    if me.via == "anonymous":
        say("nobody: no key was sent, so only what is published can be read; PAIRMARK_API_KEY names a key")
    elif me.via == "local":
        say(f"local: this service wants no key yet; {may}")
    else:
        say(f"member {me.member} of organisation {me.organisation}, by {f'key {me.key}' if me.key else 'identity provider'}; {may}")
    return OK


@app.command("organisations")
def organisations(service: ServiceUrl = DEFAULT_SERVICE) -> int:
    """List organisations: your own, or all for an operator."""
    with client_of(service) as client:
        found = client.people.organisations()
    say_all(table([("organisation", "name", "since"), *((each.id, each.name, each.created_at) for each in found)]))
    return OK


@app.command("found")
def found_organisation(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the organisation is called.")], service: ServiceUrl = DEFAULT_SERVICE
) -> int:
    """Found an organisation and print its id.

    For admins of the one that runs the service.
    """
    with client_of(service) as client:
        made = client.people.found_organisation(name)
    say(made.id)
    return OK


@app.command("audit")
def audit(
    member: Annotated[str | None, typer.Option("--member", metavar="ID", help="Only what this member changed.")] = None,
    action: Annotated[str | None, typer.Option("--action", metavar="CALL", help="Only this call, such as 'POST /v1/runs'.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Changes to show.")] = 50,
    organisation: Organisation = None,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """List changes of state, the newest first.

    For admins: who changed what, when, from where.
    """
    from itertools import islice

    with client_of(service) as client:
        found = list(islice(client.people.audit(organisation=organisation, member=member, action=action), limit))
    for each in found:
        say(clean(f"{each.at}  {each.action}  {each.member or each.via}  from {each.address or 'an unknown address'}"))
        say_all(clean(f"  {change['table']} {change['row']}") for change in each.changes)
    return OK


@app.command("keys")
def list_keys(service: ServiceUrl = DEFAULT_SERVICE) -> int:
    """List your keys and what they may do.

    As an admin, those of your organisation.
    """
    with client_of(service) as client:
        found = client.people.keys()
    rows = [(each.id, each.label, each.member, ", ".join(each.permissions) or "nothing") for each in found]
    say_all(table([("key", "label", "member", "may"), *rows]))
    return OK


@app.command("list")
def list_members(organisation: Organisation = None, service: ServiceUrl = DEFAULT_SERVICE) -> int:
    """List members and their roles."""
    with client_of(service) as client:
        found = client.people.members(organisation)
    rows = [(each.id, each.name, ", ".join(each.roles), "" if each.removed_at is None else f"left {each.removed_at}") for each in found]
    say_all(table([("member", "name", "roles", ""), *rows]))
    return OK


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the member is called.")],
    role: Annotated[list[Role], typer.Option("--role", metavar="ROLE", help="reader, submitter, maintainer, reviewer or admin; may be given again.")],
    organisation: Organisation = None,
    issuer: Annotated[str | None, typer.Option("--issuer", metavar="URL", help="With --subject: who vouches for the member's tokens.")] = None,
    subject: Annotated[str | None, typer.Option("--subject", metavar="TEXT", help="With --issuer: what it calls the member.")] = None,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """Add a member."""
    with client_of(service) as client:
        made = client.people.add_member(name, [each.value for each in role], organisation=organisation, issuer=issuer, subject=subject)
    say(made.id)
    return OK


@app.command("remove")
def remove(member: Annotated[str, typer.Argument(metavar="MEMBER", help="The member's id.")], service: ServiceUrl = DEFAULT_SERVICE) -> int:
    """End a membership and all its keys."""
    with client_of(service) as client:
        gone = client.people.remove_member(member)
    say(f"{gone.id} left at {gone.removed_at}")
    return OK


@app.command("key")
def key(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What the key is for.")],
    member: Annotated[str | None, typer.Option("--member", metavar="ID", help="Whose it is; by default one's own.")] = None,
    scope: Annotated[
        list[str] | None, typer.Option("--scope", metavar="PERMISSION", help="What it may do at most: read, submit, register, review, administer; may be given again.")
    ] = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="TIME", help="With an offset, such as 2027-01-01T00:00:00+00:00.")] = None,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """Make an API key and print it, once."""
    if expires is not None:
        _require_time(expires)
    with client_of(service) as client:
        made = client.people.make_key(label, member=member, scopes=scope, expires_at=expires)
    say(made.token or "")
    return OK


@app.command("revoke-key")
def revoke_key(key_id: Annotated[str, typer.Argument(metavar="KEY", help="The key's id: the middle of its text.")], service: ServiceUrl = DEFAULT_SERVICE) -> int:
    """Revoke an API key."""
    with client_of(service) as client:
        ended = client.people.revoke_key(key_id)
    say(f"{ended.id} revoked at {ended.revoked_at}")
    return OK


def _require_time(text: str) -> None:
    """Refuse what is no time with an offset, before a service is asked.

    Raises:
        Malformed: it is none.
    """
    from pydantic import TypeAdapter, ValidationError

    from pairmark.domain.documents.base import Time
    from pairmark.domain.errors import Malformed, shown

    try:
        TypeAdapter(Time).validate_python(text)
    except ValidationError:
        raise Malformed(
            "usage", f"expected --expires as a time with an offset, found {shown(text)}", remedy="such as 2027-01-01T00:00:00+00:00"
        ) from None
