"""A harness' own folders and logs on the command line: which reader, and what is said beside the files, for each arm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pairmark.domain.documents.suite import SuiteManifest
    from pairmark.domain.errors import Malformed
    from pairmark.domain.evidence import Role
    from pairmark.importers.base import Imported, Importer
    from pairmark.importers.mapping_yaml import ReadYaml

ROLES: tuple[Role, ...] = ("benign", "attacked", "baseline")
_CARRIES = {"harness": "harness", "attack": "attack", "system": "system", "epoch": "epochs", "mapping": "meaning"}
_FOR_ONE = "ROLE=… is for one arm"

HarnessOption = Annotated[
    list[str] | None,
    typer.Option("--harness", metavar="[ROLE=]NAME", help=f"Whose files they are, where it has to be said; {_FOR_ONE}."),
]
AttackOption = Annotated[
    list[str] | None,
    typer.Option("--attack", metavar="[ROLE=]NAME", help=f"Which attack, where files hold several; {_FOR_ONE}."),
]
SystemOption = Annotated[
    list[str] | None,
    typer.Option("--system", metavar="[ROLE=]FILE", help=f"JSON with what the harness does not record; {_FOR_ONE}."),
]
EpochOption = Annotated[
    list[str] | None,
    typer.Option("--epoch", metavar="[ROLE=]N", help=f"Number of the epoch, where there is one; {_FOR_ONE}."),
]
MappingOption = Annotated[
    list[str] | None,
    typer.Option("--mapping", metavar="[ROLE=]FILE", help=f"YAML that says what the columns of the files mean; {_FOR_ONE}."),
]


@dataclass(frozen=True)
class Beside:
    """What is said beside the files of one arm."""

    harness: str | None = None
    attack: str | None = None
    system: Path | None = None
    epoch: int | None = None
    mapping: Path | None = None


@dataclass(frozen=True)
class HarnessOptions:
    """The options as given, by their names; `of` is what they say of one arm."""

    given: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, role: Role) -> Beside:
        """What holds for an arm: what was said for it alone, else what was said for all. Attacks are not of the benign arm.

        Raises:
            Malformed: something is said twice, or an epoch is no number.
        """
        said = {name: _for_role(name, values, role) for name, values in self.given.items()}
        if role == "benign" and _for_role("attack", self.given.get("attack", ()), role, alone=True) is None:
            said.pop("attack", None)
        system, mapping, epoch = said.get("system"), said.get("mapping"), said.get("epoch")
        return Beside(
            said.get("harness"), said.get("attack"), None if system is None else Path(system), _epoch(epoch),
            None if mapping is None else Path(mapping),
        )  # fmt: skip


    def check_used(self, bundles: Sequence[Role], roles: Sequence[Role]) -> None:
        """Refuse what is said beside bundles, which say it themselves, or of an arm that is not given.

        Raises:
            Malformed: `usage`; otherwise it would be ignored without a word.
        """
        from pairmark.domain.errors import Malformed

        for name, values in self.given.items():
            for role in ROLES:
                _for_role(name, values, role)
            asked = [before if equals and before in ROLES else None for before, equals, _ in (value.partition("=") for value in values)]
            for of in asked:
                if of is not None and of not in roles:
                    raise Malformed("usage", f"expected --{name} {of}=… beside --{of}, found no --{of}", remedy=f"give --{of}, or leave it out")
                if of in bundles or (of is None and len(bundles) == len(roles)):
                    which = "every arm" if of is None else f"the {of} arm"
                    raise Malformed(
                        "usage", f"expected --{name} beside a harness' own files, found that {which} is a bundle, which carries its {_CARRIES[name]} already",
                        remedy="leave it out, or import the run's files again with it",
                    )  # fmt: skip


def harness_options(**given: list[str] | None) -> HarnessOptions:
    """The options of a command; each `None` where it was not given."""
    return HarnessOptions({name: tuple(values) for name, values in given.items() if values})


def _for_role(name: str, values: Sequence[str], role: str, *, alone: bool = False) -> str | None:
    from pairmark.domain.errors import Malformed, shown

    general, own = [], []
    for value in values:
        before, equals, rest = value.partition("=")
        if equals and before in ROLES:
            if before == role:
                own.append(rest)
        else:
            _refuse_misspelt(name, value, before if equals else "")
            general.append(value)
    for found in (own, general):
        if len(found) > 1:
            raise Malformed(
                "usage", f"expected --{name} once for an arm, found {', '.join(map(shown, found))}",
                remedy=f"say for which arm: --{name} {role}=…",
            )  # fmt: skip
    chosen = own if alone else own or general
    return chosen[0] if chosen else None


def _refuse_misspelt(name: str, value: str, before: str) -> None:
    """Refuse a word before `=` that was meant as a role; a file may be called so.

    Raises:
        Malformed: `usage`.
    """
    from difflib import get_close_matches

    from pairmark.domain.errors import Malformed, shown

    near = get_close_matches(before.lower(), ROLES, 1)
    if near and not Path(value).exists():
        raise Malformed(
            "usage", f"expected --{name} with one of {', '.join(f'{role}=' for role in ROLES)} or neither, found {shown(before + '=')}",
            remedy=f"write --{name} {near[0]}=…",
        )  # fmt: skip


def _epoch(text: str | None) -> int | None:
    from pairmark.domain.errors import Malformed, shown

    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) <= 1_000_000 and len(text) <= 10):
        raise Malformed("usage", f"expected --epoch to be a number from 1, found {shown(text)}", remedy="give a number")
    return int(text)


@dataclass(frozen=True)
class MappingFile:
    """A mapping as it is written, and the file that errors name."""

    value: dict[str, Any]
    file: str
    read: ReadYaml

    def located(self, problem: Malformed) -> Malformed:
        """A refusal of the mapping, with the line of its pointer; another one as it is."""
        if problem.file not in (None, self.file) or problem.pointer is None:
            return problem
        return problem.located(file=self.file, line=self.read.line_of(problem.pointer))


def read_mapping(path: Path | None) -> MappingFile | None:
    """The mapping in a YAML or JSON file, or null without one; its keys are checked by the importer it is for.

    Raises:
        Malformed: not readable, or no mapping with keys; with file and line.
    """
    if path is None:
        return None
    from pairmark.adapters.ledgers.documents import read_bytes
    from pairmark.domain.errors import Malformed
    from pairmark.importers.mapping_yaml import MAX_BYTES, read_yaml

    read = read_yaml(read_bytes(path, "mapping", MAX_BYTES), file=str(path))
    if not isinstance(read.value, dict):
        raise Malformed("not-an-object", "expected a mapping with keys", str(path), 1, "", "see docs/mapping.md")
    return MappingFile(read.value, str(path), read)


def named_reader(name: str, mapping: Path | None) -> Importer:
    """The reader of that name, with the mapping if there is one.

    Raises:
        Malformed: there is none, or the mapping is none for it.
    """
    from pairmark.importers.recognition import named_importer

    return _with_lines(read_mapping(mapping), lambda value, file: named_importer(name, value, file=file))


def _with_lines(mapping: MappingFile | None, find: Callable[[dict[str, Any] | None, str | None], Importer]) -> Importer:
    from pairmark.domain.errors import Malformed

    if mapping is None:
        return find(None, None)
    try:
        return find(mapping.value, mapping.file)
    except Malformed as problem:
        raise mapping.located(problem) from None


def find_reader(paths: Sequence[Path], name: str | None, mapping: Path | None) -> Importer:
    """The reader that is named, or the only one that recognises `paths`.

    Raises:
        Malformed: none, or several; the message says what was looked for.
    """
    from pairmark.importers.recognition import reader_of

    return _with_lines(read_mapping(mapping), lambda value, file: reader_of(paths, name, value, mapping_file=file))


def read_arm(
    importer: Importer, paths: Sequence[Path], role: Role, beside: Beside, suite: SuiteManifest, suite_digest: str
) -> Imported:
    """The run below `paths`.

    Raises:
        Malformed: the files are not one run, or contradict what is said beside them.
    """
    from pairmark.cli.import_ import read_system_file

    system = None if beside.system is None else read_system_file(beside.system)
    with naming_system_file(beside.system, system):
        return importer.read(
            paths,
            suite=suite,
            suite_digest=suite_digest,
            arm="benign" if role == "benign" else "attacked",
            attack=beside.attack,
            epoch=beside.epoch,
            system=system,
        )


@contextmanager
def naming_system_file(path: Path | None, system: Mapping[str, Any] | None) -> Iterator[None]:
    """Name the --system file in a contradiction of what it says."""
    from pairmark.domain.errors import Malformed

    try:
        yield
    except Malformed as problem:
        if path is None or problem.code != "contradiction" or not _has(system, problem.pointer):
            raise
        raise problem.located(file=str(path)) from None


def _has(value: Any, pointer: str | None) -> bool:
    """Whether the pointer leads to something in the value: what it does not hold, it does not contradict."""
    if pointer is None:
        return False
    for part in pointer.split("/")[1:]:
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return False
    return True


def is_bundle(paths: Sequence[Path]) -> bool:
    """Whether a path is given that only a bundle can be: a folder with a run or a ledger in it, an archive, or nothing at all.

    A file whose name tells nothing is an archive by another name where it is packed as one.
    """
    if len(paths) != 1:
        return False
    path = paths[0]
    if path.is_dir():
        from pairmark.adapters.ledgers.ingest import LEDGER_FILES

        return any((path / name).exists() for name in ("run.json", *LEDGER_FILES))
    name = path.name.lower()
    return not path.exists() or name.endswith((".tar.gz", ".tgz")) or (path.is_file() and "." not in name and _is_packed(path))


def _is_packed(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"\x1f\x8b"
    except OSError:
        return True  # reading it as a bundle says why not
