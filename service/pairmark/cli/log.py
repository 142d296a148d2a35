"""`pairmark log`: export the transparency log, check the stored one, and watch one from outside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pairmark.cli.console import complain, say, say_all
from pairmark.cli.db import DatabaseUrl
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK, REFUSED
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl
from pairmark.cli.verify import read_as

app = typer.Typer(help="The transparency log.", no_args_is_help=False)


@app.command("export")
def export(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where log.jsonl goes.")],
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Write the whole published log to a file.

    One entry a line, the signed checkpoint last: what `verify --log` takes.
    """
    from pairmark.cli.whole_files import write_whole

    with client_at(service, data) as client:
        count = write_whole(output, client.log.export())
    say(f"{output}  {count - 1} entries and the checkpoint")
    return OK


@app.command("fsck")
def fsck(data: DataFolder = None, database: DatabaseUrl = None) -> int:
    """Check that the stored log is whole.

    Against itself, its checkpoints, the high-water mark, and what history shows. Exit: 0 whole, 1 not.
    """
    from pairmark.adapters.log.fsck import check_log
    from pairmark.adapters.log.mark import HighWaterMark
    from pairmark.adapters.log.signing import trusted
    from pairmark.adapters.sql.database import SqlDatabase
    from pairmark.http.settings import Settings

    settings = Settings.of(os.environ, data_dir=data, database_url=database)
    signing, stored = trusted(settings.keys_dir), SqlDatabase.at(settings.database)
    try:
        wrong = list(check_log(stored, signing, HighWaterMark(settings.keys_dir, signing.origin)))
        with stored.reading() as tables:
            size, signed = tables.log.head().size, len(tables.log.checkpoints())
    finally:
        stored.close()
    for line in wrong:
        complain(line)
    say(f"{size} entries, {signed} checkpoints: " + ("whole" if not wrong else f"{len(wrong)} faults"))
    return REFUSED if wrong else OK


@app.command("monitor")
def monitor(
    trust: Annotated[Path, typer.Option("--trust", metavar="FILE", help="The log's trust root, got from a place you trust.")],
    state: Annotated[Path, typer.Option("--state", metavar="FILE", help="What was seen last; made at the first call, then brought up to date.")],
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """Fetch what is new, and prove that the log only grew.

    Every new entry must be in the signed tree, together with all that was seen before.

    Exit: 0 it did, 1 it did not: keep the state file and both checkpoints, they are the evidence.
    """
    from pairmark.cli.watching import read_state, watch, write_state
    from pairmark.domain.errors import Malformed
    from pairmark.provenance.trust import parse_trust

    chain = parse_trust(read_as("trust root", trust, "--trust"), file=str(trust))
    if state.exists():
        read_as("monitor state", state, "--state")
    before = read_state(state, chain.current.origin)
    with client_at(service, data) as client:
        try:
            seen = watch(client.log, chain.current, before)
        except Malformed as problem:
            complain(f"{problem}")
            return REFUSED
    write_state(state, seen.state)
    say_all(seen.lines)
    say(f"{seen.state.size} entries, {seen.state.size - before.size} of them new; the log only grew")
    return OK
