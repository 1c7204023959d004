"""Writes the pages of docs/reference that are made from the code: options, commands, error codes, the public API.

python scripts/make_reference.py          writes them
python scripts/make_reference.py --check  says which are out of date, and exits with 1 if any is
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import api_reference
import typer
from typer.testing import CliRunner

from penstock import config, errors
from penstock.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
_MADE = "<!-- Made by scripts/make_reference.py; change the code instead. -->\n"


# -- options


def options_page() -> str:
    """The options, by key."""
    lines = [
        "# Options\n",
        _MADE,
        'Give an option in code, `Configuration({"key": value})`, or on the command line, `penstock run job.py -D key=value`.',
        "What the program sets itself wins over the command line. The environment variable `PENSTOCK_OPTIONS` holds defaults",
        "for both, as a JSON object. Any other key that begins with `spark.` is passed on to Spark as it is. Keys of Flink's that",
        "only tune Flink's own machinery (`taskmanager.*`, `state.backend.rocksdb.*`, ...) are kept and ignored, with a warning.",
        "An unknown key is refused, and the message names the nearest one.\n",
        "Durations are written `10 s`, `1 min` or as milliseconds; memory sizes `64 mb` or as bytes; lists `[a, b]` or `a;b`; maps",
        "`{k: v}` or `k:v,l:w`.\n",
        "| option | type | default | what it does |",
        "|---|---|---|---|",
    ]
    for option in config.options():
        default = f"`{option.shown_default()}`" if option.shown_default() else "not set"
        older = f" Also: {', '.join(f'`{a}`' for a in option.aliases)}." if option.aliases else ""
        lines.append(f"| `{option.key}` | {option.kind.name} | {default} | {_cell(option.doc)}{older} |")
    return "\n".join(lines) + "\n"


# -- commands


def commands_page() -> str:
    """The commands, as their own help tells of them."""
    lines = [
        "# Commands\n",
        _MADE,
        "What a command has to say of a job goes to stderr. Stdout belongs to the program.\n",
    ]
    lines += [f"```text\n{_help()}\n```\n"]
    for words in _commands(app):
        lines += [f"## `penstock {' '.join(words)}`\n", f"```text\n{_help(*words)}\n```\n"]
    return "\n".join(lines)


def _commands(group: typer.Typer) -> Iterator[tuple[str, ...]]:
    """All commands, also those of groups, each as its words."""
    for command in group.registered_commands:
        yield (command.name or (command.callback.__name__ if command.callback else ""),)
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            yield from ((str(inner.typer_instance.info.name), *words) for words in _commands(inner.typer_instance))


def _help(*command: str) -> str:
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, [*command, "--help"], prog_name="penstock")
    return "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())


# -- errors


@dataclass(frozen=True, slots=True)
class Raised:
    """A place in the code where an error of ours is made."""

    code: str
    kind: str
    text: str
    file: str


def raised() -> list[Raised]:
    """All errors that the code makes, by code; a text stands once however often it occurs."""
    found = {(r.code, r.kind, r.text): r for file in sorted((ROOT / "src").rglob("*.py")) for r in _raised_in(file)}
    return [found[key] for key in sorted(found)]


def _raised_in(file: Path) -> Iterator[Raised]:
    kinds = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.PenstockError)
    }
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        code = _template(node.args[0])
        if name in kinds and code:
            yield Raised(code, name, _template(node.args[1]), str(file.relative_to(ROOT)))


def _template(node: ast.expr) -> str:
    """A string as it stands in the code, with names in braces where values are put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{_short(node.value)}}}"
    if isinstance(node, ast.BinOp):
        return _template(node.left) + _template(node.right)
    return ""


def _short(value: ast.expr) -> str:
    """A name in an expression: enough to know what is put in."""
    inside = list(ast.walk(value))
    strings = [
        n.value for n in inside if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.isidentifier()
    ]
    names = [
        n.attr if isinstance(n, ast.Attribute) else n.id for n in inside if isinstance(n, (ast.Attribute, ast.Name))
    ]
    return (strings or names or ["..."])[0].strip("_").replace("_", " ")


def errors_page() -> str:
    """The error codes, and what each says."""
    kinds: dict[str, Any] = vars(errors)
    lines = [
        "# Errors\n",
        _MADE,
        "Every error of Penstock's has a code, which does not change, and a text that says what was found, what was expected and",
        "what to do. In code: `except penstock.errors.PenstockError as error`, then `error.code`. `penstock run` prints",
        "`[CODE] text`, ends with exit code 1, and shows the stack only with `--verbose`.\n",
        "Words in braces stand for values. Four codes are the command line's own and no classes: `SPARK` (an error of Spark's",
        "without one of ours inside), `PROGRAM` (an exception of the program itself), `STOPPED` and `CANCELLED` (by Ctrl-C).\n",
    ]
    for kind in sorted({r.kind for r in raised()}):
        lines += [f"## {kind}\n", f"{(kinds[kind].__doc__ or '').strip()}\n", "| code | text |", "|---|---|"]
        lines += [f"| `{r.code}` | {_cell(r.text)} |" for r in raised() if r.kind == kind]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


PAGES: dict[str, Callable[[], str]] = {
    "options.md": options_page,
    "commands.md": commands_page,
    "errors.md": errors_page,
}


def made() -> dict[str, str]:
    """All pages, by their paths in docs/reference."""
    api = {f"api/{name}": text for name, text in api_reference.pages().items()}
    return {name: make() for name, make in PAGES.items()} | api


def outdated() -> list[str]:
    """The pages that differ from what the code says now, and pages of the API that nothing makes."""
    pages = made()
    found = [
        name
        for name, text in pages.items()
        if not (REFERENCE / name).exists() or (REFERENCE / name).read_text(encoding="utf-8") != text
    ]
    return found + sorted({f"api/{path.name}" for path in (REFERENCE / "api").glob("*.md")} - set(pages))


def main() -> int:
    if "--check" in sys.argv[1:]:
        late = outdated()
        for name in late:
            print(f"docs/reference/{name} is out of date; run: python scripts/make_reference.py", file=sys.stderr)
        return 1 if late else 0
    pages = made()
    for path in (REFERENCE / "api").glob("*.md"):
        if f"api/{path.name}" not in pages:
            path.unlink()
    (REFERENCE / "api").mkdir(exist_ok=True)
    for name, text in pages.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
