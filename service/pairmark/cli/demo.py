"""`pairmark demo`: the whole story on an embedded database, offline, with bundles that come with Pairmark."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pairmark.cli.console import clean, say, say_all, styled, table
from pairmark.cli.exit_codes import BUG, OK

if TYPE_CHECKING:
    from pairmark.client import Client

SUITE: Final = "agentdojo-banking-v1.2.2.json"
POLICY: Final = "standard/1"


@dataclass(frozen=True)
class Story:
    """A pair of the demo: its folder in `manifests/examples/`, the verdict it must get, the report's file, and what it shows."""

    folder: str
    verdict: str
    report: str
    shows: str


STORIES: Final = (
    Story(
        "certified",
        "certified",
        "report.json",
        "a keyword filter in both arms; the baseline shows that the injections arrive",
    ),
    Story(
        "refused", "refused", "refused.json", "the same agent, but the provider failed midway and a task was never run"
    ),
    Story(
        "quarantined",
        "quarantined",
        "quarantined.json",
        "no defense; utility under attack lies far above benign utility",
    ),
)


def demo(
    data: Annotated[
        Path, typer.Option("--data", metavar="DIR", help="Folder for the database, the ledgers and demo/.")
    ] = Path("pairmark-data"),
) -> int:
    """Show the whole story. Register a suite, hand in runs, and get one pair certified, one refused, one quarantined.

    Offline and without a key. The runs are real output of the AgentDojo harness, made by a scripted agent, not by a model.
    """
    from pairmark.cli.demo_service import running_service
    from pairmark.client import Client

    home = data / "demo"
    home.mkdir(parents=True, exist_ok=True)
    say("The runs of this demo are real output of the AgentDojo harness, but a scripted agent made them, not a model:")
    say("their numbers say nothing about any model.")
    _step(1, "starting the service on its embedded database (this loads the data-quality library once)")
    reports: dict[str, dict[str, Any]] = {}
    certificate: str | None = None
    rows = [("pair", "verdict", "certificate", "what it shows")]
    with running_service(data) as url, Client(url) as client:
        _step(2, "registering the suite")
        label = _register(client, home / "suite.json")
        say(f"     {label}")
        for number, story in enumerate(STORIES, 3):
            _step(number, f"handing in and judging the {story.folder} pair")
            ids = {role: _hand_in(client, story, role, home) for role in _roles(story)}
            reply = client.certify(ids["benign"], ids["attacked"], ids.get("baseline"), POLICY)
            reports[story.folder] = reply.value["report"]
            _write_report(home / story.report, reply.value["report"])
            rows.append(
                (story.folder, reply.value["report"]["verdict"], reply.model.certificate or "none", story.shows)
            )
            certificate = reply.model.certificate or certificate
        if certificate is not None:
            _keep_certificate(client, certificate, home)
    _step(6, "judging the certified pair again, offline, as `pairmark check` does")
    same = _same_offline(home)
    say(f"     {'the same report, byte for byte' if same else 'ANOTHER report than the service gave'}")
    say()
    say_all(_story_lines(reports))
    say_all(table(rows))
    say()
    say_all(_where_lines(data, home))
    return _ending(reports, same)


def _step(number: int, text: str) -> None:
    say(styled(f"[{number}/6] {text}", "bold"))
    sys.stdout.flush()


def _examples(story: Story) -> Path:
    from pairmark.resources import data_folder

    return data_folder("manifests") / "examples" / story.folder


def _roles(story: Story) -> list[str]:
    return [role for role in ("benign", "attacked", "baseline") if (_examples(story) / role).is_dir()]


def _register(client: Client, target: Path) -> str:
    from pairmark.adapters.ledgers.documents import read_suite
    from pairmark.domain.canonical import canonical_bytes
    from pairmark.resources import data_folder

    source = data_folder("manifests") / "suites" / SUITE
    loaded = read_suite(source)
    reply = client.register_suite(canonical_bytes(loaded.value))
    shutil.copyfile(source, target)
    return f"{clean(reply.model.name)} {clean(reply.model.version)} {reply.model.digest}{'' if reply.new else ' (registered already)'}"


def _hand_in(client: Client, story: Story, role: str, home: Path) -> str:
    """Copy an example bundle beside the demo's reports, submit the copy, and return the run's id."""
    from pairmark.cli.submitting import submit

    target = home / role if story.verdict == "certified" else home / story.folder / role
    _copy(_examples(story) / role, target)
    answer, new = submit(client, target)
    say(
        f"     {role:<8}  {answer.id}  {'sealed' if new else 'sealed already'}, {answer.run.episodes.count if answer.run.episodes else 0} episodes"
    )
    return answer.id


def _copy(source: Path, target: Path) -> None:
    """A bundle with its ledger as plain lines; what lay at `target` from an earlier demo is replaced."""
    import json

    from pairmark.adapters.ledgers.bundle import read_bundle, write_bundle

    arm = read_bundle(source, "benign")
    run = json.loads((source / "run.json").read_bytes())
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".copy-", dir=target.parent) as scratch:
        write_bundle(run, arm.ledger, Path(scratch) / "bundle")
        if target.exists():
            shutil.rmtree(target)
        (Path(scratch) / "bundle").replace(target)


def _write_report(path: Path, report: dict[str, Any]) -> None:
    from pairmark.domain.canonical import canonical_bytes

    path.write_bytes(canonical_bytes(report) + b"\n")


def _keep_certificate(client: Client, certificate: str, home: Path) -> None:
    """What a stranger needs to verify it without the service."""
    from pairmark.cli.whole_files import write_whole

    write_whole(home / "certificate.json", [client.log.bundle(certificate)])
    write_whole(home / "trust.json", [client.log.trust()])
    write_whole(home / "log.jsonl", client.log.export())


def _same_offline(home: Path) -> bool:
    from pairmark.adapters.quality.gate import great_expectations_gate
    from pairmark.app.check import check
    from pairmark.cli.pair import read_pair

    pair = read_pair(home / "suite.json", home / "benign", home / "attacked", home / "baseline", POLICY)
    checked = check(pair.experiment, pair.policy.policy, pair.policy.digest, great_expectations_gate())
    return checked.content + b"\n" == (home / "report.json").read_bytes()


def _story_lines(reports: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The numbers where they are released, and the reasons where they are not."""
    from pairmark.cli.figures import figure_lines
    from pairmark.cli.text_report import checklist_lines, count_lines, verdict_line

    for story in STORIES:
        report = reports[story.folder]
        yield f"--- {story.folder}: {story.shows}"
        yield verdict_line(report)
        if report["metrics"] is None:
            yield from checklist_lines(
                [each for each in report["findings"] if each["outcome"] not in ("passed", "not_applicable")]
            )
        else:
            yield from count_lines(report["counts"])
            yield from figure_lines(report["metrics"])
        yield ""


def _where_lines(data: Path, home: Path) -> Iterator[str]:
    """Where everything lies, and what to try next."""
    arguments = (
        f"--suite {clean(home / 'suite.json')} --benign {clean(home / 'benign')} --attacked {clean(home / 'attacked')}"
    )
    yield "Where everything lies"
    yield from table(
        [
            ("  database", str(data / "pairmark.db")),
            ("  ledgers", str(data / "objects")),
            ("  suite", str(home / "suite.json")),
            (
                "  bundles",
                ", ".join(f"{home / name}/" for name in ("benign", "attacked", "baseline", "refused", "quarantined")),
            ),
            ("  reports", ", ".join(str(home / story.report) for story in STORIES)),
            ("  certificate", str(home / "certificate.json")),
            ("  its proof", f"{home / 'trust.json'}, {home / 'log.jsonl'}"),
            ("  keys", f"{data / 'keys'} (made by the first start, readable by you alone)"),
        ]
    )
    yield "Try"
    yield f"  pairmark check {arguments} --baseline {clean(home / 'baseline')}"
    yield (
        f"  pairmark verify {clean(home / 'certificate.json')} --trust {clean(home / 'trust.json')}"
        f" --log {clean(home / 'log.jsonl')} --artifacts {clean(home)}"
    )
    yield f"  pairmark serve --data {clean(data)}"
    yield "  pairmark history agentdojo/banking@v1.2.2     (while it serves)"


def _ending(reports: dict[str, dict[str, Any]], same: bool) -> int:
    wrong = [story for story in STORIES if reports[story.folder]["verdict"] != story.verdict]
    if same and not wrong:
        return OK
    for story in wrong:
        say(
            f"expected the {story.folder} pair to be {story.verdict}, found {reports[story.folder]['verdict']}; please report this as a bug"
        )
    return BUG
