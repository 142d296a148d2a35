"""The command `pairmark`. Nothing heavy is imported before a command that needs it runs."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Annotated, TextIO

import typer

from pairmark import __version__
from pairmark.cli import (
    aggregate,
    check,
    compare,
    config,
    db,
    demo,
    disprove,
    doctor,
    export,
    gc,
    history,
    import_,
    keys,
    log,
    people,
    plan,
    policy,
    prove,
    publish,
    revoke,
    rules,
    serve,
    submit,
    suite,
    supersede,
    tally,
    verify,
    webhooks,
    worker,
)
from pairmark.cli import certify as certify_command
from pairmark.cli.console import clean, complain, prepare_streams
from pairmark.cli.exit_codes import BROKEN_PIPE, BUG, CANNOT_WRITE, INTERRUPTED, OK, USAGE, sentence
from pairmark.domain.errors import PairmarkError

DEBUG = "PAIRMARK_DEBUG"

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Certifies utility under attack: proves that the arms of a prompt-injection benchmark are the same experiment"
        " and that the injections arrived, and only then gives the pair of numbers."
    ),
    epilog=sentence(),
)
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("worker")(worker.worker)
app.command("config")(config.config)
app.command("gc")(gc.gc)
app.add_typer(db.app, name="db")
app.add_typer(suite.app, name="suite")
app.command("import")(import_.import_run)
app.command("doctor")(doctor.doctor)
app.command("check")(check.check)
app.command("tally")(tally.tally)
app.command("submit")(submit.submit)
app.command("certify")(certify_command.certify)
app.command("verify")(verify.verify)
app.command("prove")(prove.prove)
app.command("publish")(publish.publish)
app.command("revoke")(revoke.revoke)
app.command("supersede")(supersede.supersede)
app.command("disprove")(disprove.disprove)
app.add_typer(keys.app, name="keys")
app.add_typer(people.app, name="people")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(log.app, name="log")
app.command("export")(export.export)
app.command("history")(history.history)
app.command("compare")(compare.compare)
app.command("plan")(plan.plan)
app.add_typer(aggregate.app, name="aggregate")
app.add_typer(rules.app, name="rules")
app.add_typer(policy.app, name="policy")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"pairmark {__version__}")
        raise typer.Exit(OK)


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """See the help of the app."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. Every failure is one line on standard error, never a traceback."""
    prepare_streams()
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="pairmark", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as stop:  # typer's answer to a reader that went away
        code = BROKEN_PIPE if _is_broken_pipe(stop.__context__) else stop.code
    except Exception as problem:  # noqa: BLE001 - the last resort: no traceback reaches a person unasked
        code = _explain(problem)
    if code in (BROKEN_PIPE, CANNOT_WRITE):
        _let_go_of_output(sys.__stdout__, *((sys.__stderr__,) if code == BROKEN_PIPE else ()))
    return code if isinstance(code, int) else OK


def _explain(problem: Exception) -> int:
    """Say what went wrong in one line; returns the exit code."""
    if _is_broken_pipe(problem):
        return BROKEN_PIPE
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(problem)
    if isinstance(problem, PairmarkError):
        complain(str(problem))
        from pairmark.cli.service import exit_code_of

        return exit_code_of(problem)
    if isinstance(problem, typer.Abort):  # a question that nobody answered: the end of the input, or Ctrl-C
        if isinstance(problem.__context__, KeyboardInterrupt):
            return INTERRUPTED
        complain("pairmark: expected an answer, found the end of the input; type the answer, or leave out the option that asks [usage]")
        return USAGE
    message = getattr(problem, "format_message", None)
    if message is not None:  # a usage error of typer
        context = getattr(problem, "ctx", None)
        command = context.command_path if context is not None else "pairmark"
        said = " ".join(message().split()).replace("Value error, ", "")
        complain(f"{command}: {said} ({command} --help shows the usage) [usage]")
        return USAGE
    if isinstance(problem, OSError) and problem.errno is not None:
        where = "" if problem.filename is None else f"{problem.filename}: "
        complain(f"pairmark: {where}{problem.strerror}; check the path, its permissions and the free space")
        return CANNOT_WRITE
    complain(
        f"pairmark: this is a bug, please report it ({type(problem).__name__}: {clean(problem)[:300]});"
        f" {DEBUG}=1 shows the traceback"
    )
    return BUG


def _is_broken_pipe(problem: BaseException | None) -> bool:
    return isinstance(problem, OSError) and problem.errno == errno.EPIPE


def _let_go_of_output(*streams: TextIO | None) -> None:
    """Nothing more can be written: keep the interpreter from complaining when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        if stream is not None and not stream.closed:
            os.dup2(nowhere, stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
