"""Writes the generated parts of docs/operations.md and docs/limits.md from the code: `python tools/operations_pages.py --write | --check`."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from inspect import cleandoc
from pathlib import Path

from pairmark.adapters.ledgers.limits import Limits
from pairmark.http.described import SECRETS, described, meanings
from pairmark.http.settings import PREFIX, Settings

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "service" / "pairmark"
START = "<!-- From here on written by tools/operations_pages.py -->\n"
NAMED = re.compile(r"_?(MAX|MOST|LARGEST|LONGEST)(_[A-Z0-9_]+)?|[A-Z_]*(TIMEOUT|BUSY|POOL|LOCK|STATEMENT|CONNECT)_SECONDS")
"""How a constant is called that bounds something."""

UNITS = {"bytes": "B", "seconds": "s", "hours": "h", "days": "days", "minute": "a minute"}


@dataclass(frozen=True)
class Bound:
    """A constant that bounds something."""

    module: str
    name: str
    value: int | float
    meaning: str


def amount(name: str, value: float) -> str:
    """A number with its unit, as the name says it."""
    words = name.lower().split("_")
    if "bytes" in words and value >= 1024 and value % 1024 == 0:
        for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
            if value % size == 0 and value < size * 1024:
                return f"{value / size:g} {unit}"
    unit = next((UNITS[word] for word in words if word in UNITS), "")
    return f"{value:,} {unit}".strip()


def value_of(node: ast.expr) -> int | float | None:
    """The number that an expression of numbers is; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.Name) and node.id in ("MIB", "GIB"):
        return 1024**2 if node.id == "MIB" else 1024**3
    if isinstance(node, ast.BinOp):
        left, right = value_of(node.left), value_of(node.right)
        if left is not None and right is not None:
            match node.op:
                case ast.Mult():
                    return left * right
                case ast.Pow():
                    return int(left**right)
                case ast.Sub():
                    return left - right
    return None


def bounds() -> Iterator[Bound]:
    """Every constant of the package that is called like a bound, in the order of modules."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        body, about = tree.body, (ast.get_docstring(tree) or "").split("\n")[0]
        for node, following in zip(body, [*body[1:], None], strict=True):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
            if not isinstance(target, ast.Name) or NAMED.fullmatch(target.id) is None:
                continue
            number = value_of(node.value) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None else None
            if number is None:
                continue
            said = following.value.value if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) else None
            module = path.relative_to(PACKAGE).with_suffix("").as_posix()
            yield Bound(module, target.id, number, cleandoc(said).split("\n")[0] if isinstance(said, str) else f"({about})")


def limits_tables() -> str:
    """The generated part of docs/limits.md."""
    given, told = Settings(), dict(re.findall(r"^    (\w+): (.+)$", cleandoc(Limits.__doc__ or ""), flags=re.MULTILINE))
    lines = ["## What an operator may change", "", "| variable | default | bounds |", "|---|---|---|"]
    for each in fields(Settings):
        value = getattr(given, each.name)
        if isinstance(value, int) and each.name not in ("port", "workers"):
            lines.append(f"| `{PREFIX}{each.name.upper()}` | {amount(each.name, value)} | {_cell(meanings()[each.name])} |")
    lines += ["", "## Reading ledgers and bundles", "", "| limit | value | bounds |", "|---|---|---|"]
    for each in fields(Limits):
        value = getattr(Limits(), each.name)
        unit = "bytes" if "bytes" in told[each.name] else "count"
        lines.append(f"| `{each.name}` | {amount(unit, value)} | {_cell(told[each.name])} |")
    lines += ["", "## Fixed in the code", "", "| module | constant | value | bounds |", "|---|---|---|---|"]
    lines += [f"| `{each.module}` | `{each.name}` | {amount(each.name, each.value)} | {_cell(each.meaning)} |" for each in bounds()]
    return "\n".join(lines) + "\n"


def settings_table() -> str:
    """The generated part of docs/operations.md."""
    lines = ["## Settings", "", "| variable | default | |", "|---|---|---|"]
    for each in described({}):
        if each.variable not in SECRETS:
            default = "" if each.default is None else f"`{each.default}`"
            lines.append(f"| `{each.variable}` | {default} | {_cell(each.meaning)} |")
    lines += ["", "Secrets are read from the environment where they are needed, and shown nowhere:", "", "| variable | |", "|---|---|"]
    lines += [f"| `{variable}` | {_cell(meaning)} |" for variable, meaning in SECRETS.items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


PAGES = {REPOSITORY / "docs" / "limits.md": limits_tables, REPOSITORY / "docs" / "operations.md": settings_table}


def written(page: Path) -> str:
    """The page with its generated part brought up to date.

    Raises:
        ValueError: the page does not say where that part starts.
    """
    text = page.read_text(encoding="utf-8")
    if START not in text:
        raise ValueError(f"expected a line {START.strip()!r} in {page.name}, found none")
    return text.split(START, maxsplit=1)[0] + START + "\n" + PAGES[page]()


def run(arguments: list[str]) -> int:
    """0 when the pages are up to date."""
    if arguments not in (["--write"], ["--check"]):
        print("expected --write or --check", file=sys.stderr)
        return 2
    stale = [page for page in PAGES if page.read_text(encoding="utf-8") != written(page)]
    for page in stale:
        if arguments == ["--write"]:
            page.write_text(written(page), encoding="utf-8")
            print(f"wrote {page.name}")
        else:
            print(f"{page.name} is out of date; run tools/operations_pages.py --write", file=sys.stderr)
    return 0 if arguments == ["--write"] or not stale else 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
