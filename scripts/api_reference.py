"""The pages of docs/reference/api: the public classes, from their signatures and docstrings. `make_reference.py` writes them."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

# Where names are looked for; the first place that has one is the path to import it from.
PLACES = (
    "penstock",
    "penstock.testing",
    "penstock.connectors",
    "penstock.formats",
    "penstock.state_processor",
    "penstock.connectors.redis",
    "penstock.connectors.kafka",
    "penstock.cep",
    "penstock.functions",
    "penstock.datastream",
    "penstock.metrics",
    "penstock.state",
    "penstock.time",
    "penstock.ttl",
)
PROMISED = (
    "penstock",
    "penstock.testing",
    "penstock.connectors",
    "penstock.formats",
    "penstock.cep",
    "penstock.state_processor",
)

# What other layers of Penstock call; no one else should.
INNER = {"write_to", "chosen_parallelism"}
INNER_OF = {
    "StreamExecutionEnvironment": {"add", "replace", "next_id", "unique", "graph", "collect", "files", "job_parameters"}
}
# Programs are given these, or make them by their static methods, so their constructors are not told.
GIVEN = {
    "AfterMatchSkipStrategy",
    "CheckpointConfig",
    "CompletableFuture",
    "ExecutionConfig",
    "GroupPattern",
    "JobClient",
    "JobExecutionResult",
    "LocalJob",
    "Pattern",
    "PatternStream",
    "Quantifier",
    "RestartStrategyConfiguration",
    "SavedOperator",
    "SavedState",
    "SavepointReader",
    "SavepointWriter",
    "BootstrapTransformation",
    "OperatorIdentifier",
    "SlotSharingGroup",
    "StateTtlConfig",
    "StateTtlConfigBuilder",
    "WatermarkStrategy",
}


@dataclass(frozen=True, slots=True)
class Page:
    """One page. A class stands on the page that has the longest beginning of its module's name."""

    name: str
    title: str
    intro: str
    modules: tuple[str, ...]
    made_by_users: bool = True  # whether constructors are told


PAGES = (
    Page(
        "environment",
        "Environment",
        "A program makes one environment, streams from it, and runs the job.",
        ("penstock", "penstock.datastream.environment", "penstock.datastream", "penstock.config"),
    ),
    Page(
        "streams",
        "Streams",
        "Every method adds a step to the job and gives the stream behind it. Nothing runs before `execute`. A plain function may "
        'stand wherever a class of functions may. `on_error` is `"fail"` or `"dead_letter"`.',
        (
            "penstock.datastream.data_stream",
            "penstock.datastream.keyed_stream",
            "penstock.datastream.async_data_stream",
            "penstock.datastream.enrichment",
            "penstock.datastream.connected_streams",
            "penstock.datastream.joined_streams",
            "penstock.datastream.interval_join",
            "penstock.datastream.broadcast_stream",
            "penstock.datastream.sink",
            "penstock.datastream.closeable_iterator",
            "penstock.datastream.windowed_stream",
            "penstock.datastream.all_windowed_stream",
        ),
        made_by_users=False,
    ),
    Page(
        "functions",
        "Functions",
        "Functions are classes that you write, and contexts are what they are given. A process function yields elements; "
        "`(tag, value)` goes to a side output.",
        (
            "penstock.functions.function",
            "penstock.functions.process_function",
            "penstock.functions",
            "penstock.functions.runtime_context",
            "penstock.functions.context",
        ),
    ),
    Page(
        "state",
        "State",
        "A function asks for state in `open`, by a descriptor, and keeps the handle that it is given. A handle means the state of "
        "the current key.",
        ("penstock.state", "penstock.ttl"),
    ),
    Page(
        "state-processor",
        "State processor",
        "Reads savepoints as tables and writes tables as savepoints, without the job that made them. Rows are Arrow tables, pandas "
        "or Spark frames, or dicts.",
        ("penstock.state_processor", "penstock.savepoints"),
    ),
    Page("time", "Time", "Lengths of time, timestamps, watermarks. Numbers are milliseconds.", ("penstock.time",)),
    Page(
        "types",
        "Types and rows",
        "A declared type says what state and elements are. Without one they may be any Python object.",
        ("penstock.types", "penstock.row"),
    ),
    Page(
        "metrics",
        "Metrics",
        "What a function registers with `runtime_context.get_metrics_group()`, and the totals of a job.",
        ("penstock.metrics",),
        made_by_users=False,
    ),
    Page(
        "windows",
        "Windows",
        "How elements are put into windows, and when a window gives its result.",
        ("penstock.windows",),
    ),
    Page(
        "patterns",
        "Patterns",
        "A pattern of events, the stream it is looked for in, and what is made of matches. "
        "[Find patterns](../../how-to/find-patterns.md) shows how. Lengths of time may be a `Duration`, a `timedelta` or "
        "milliseconds.",
        (
            "penstock.patterns.pattern",
            "penstock.patterns.skip",
            "penstock.patterns.update",
            "penstock.datastream.pattern_stream",
            "penstock.patterns.function",
            "penstock.patterns.condition",
            "penstock.patterns",
        ),
    ),
    Page(
        "connectors",
        "Sources and sinks",
        "[Sources and sinks](../sources-and-sinks.md) shows how to use them.",
        ("penstock.connectors", "penstock.connectors.kafka", "penstock.connectors.redis"),
    ),
    Page(
        "formats",
        "Formats",
        "How the bytes of messages and files become elements, and elements bytes. "
        "[Read and write formats](../../how-to/read-and-write-formats.md) shows how to use them.",
        ("penstock.formats",),
    ),
    Page(
        "testing",
        "Testing",
        "A pipeline in your own process. [Test a pipeline](../../how-to/test-a-pipeline.md) shows how.",
        ("penstock.testing.harness", "penstock.testing", "penstock.connectors.scripted"),
    ),
)


# -- which names, and where


@functools.cache
def public_names() -> dict[str, tuple[str, Any]]:
    """The classes and functions to tell of: name to import path and object."""
    found: dict[str, tuple[str, Any]] = {}
    for place in PLACES:
        module = importlib.import_module(place)
        names = getattr(module, "__all__", None) or [
            n for n, v in vars(module).items() if isinstance(v, type) and v.__module__ == place and n[0] != "_"
        ]
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found.setdefault(name, (place, value))
    return found


def page_of(value: Any) -> Page:
    """The page that a class or function stands on."""
    return max(PAGES, key=lambda page: max(_matched(value.__module__, page)))


def _matched(module: str, page: Page) -> Iterator[int]:
    yield -1
    yield from (len(m) for m in page.modules if module == m or module.startswith(f"{m}."))


def entries(page: Page) -> list[tuple[str, str, Any]]:
    """The names of a page in reading order: as its modules are listed, then as they stand in the code."""
    here = [(name, place, value) for name, (place, value) in public_names().items() if page_of(value) is page]

    def order(entry: tuple[str, str, Any]) -> tuple[int, str, int]:
        module = entry[2].__module__
        rank = max(
            range(len(page.modules)), key=lambda i: len(page.modules[i]) if module.startswith(page.modules[i]) else 0
        )
        return rank, module, inspect.getsourcelines(entry[2])[1]

    return sorted(here, key=order)


# -- text


def pages() -> dict[str, str]:
    """File name to text, for each page that has something to tell."""
    filled = [page for page in PAGES if entries(page)]
    return {"index.md": _index(filled)} | {f"{page.name}.md": _text(page) for page in filled}


_MADE = "<!-- Made by scripts/make_reference.py from the code; change its docstrings instead. -->\n"


def _index(filled: list[Page]) -> str:
    lines = [
        "# The public API\n",
        _MADE,
        "Signatures and docstrings of the public classes. The names of `penstock`, `penstock.testing`,",
        "`penstock.connectors`, `penstock.formats` and `penstock.cep` are promised. Others are shown since you meet them; where",
        "such a name is imported from may change.\n",
        "| page | names |",
        "|---|---|",
    ]
    for page in filled:
        names = ", ".join(f"`{name}`" for name, _, _ in entries(page))
        lines.append(f"| [{page.title}]({page.name}.md) | {names} |")
    return "\n".join(lines) + "\n"


def _text(page: Page) -> str:
    parts = [f"# {page.title}\n", _MADE, f"{page.intro}\n"]
    for name, place, value in entries(page):
        parts.append(f"## `{name}`\n")
        if place not in PROMISED:
            parts.append(f"`{place}.{name}`\n")
        elif place != "penstock":
            parts.append(f"`from {place} import {name}`\n")
        parts += _function(name, value) if inspect.isfunction(value) else _class(name, value, page)
    return "\n".join(parts)


def _function(name: str, value: Any) -> Iterator[str]:
    yield f"`{name}{_signature(value)}`\n"
    yield from _doc(value)


def _class(name: str, value: type, page: Page) -> Iterator[str]:
    if page.made_by_users and name not in GIVEN and _is_made(value):
        yield f"`{name}{_signature(value)}`\n"
    yield from _doc(value)
    if issubclass(value, Enum):
        yield f"Values: {', '.join(f'`{member.name}`' for member in value)}.\n"
        return
    known = [base for base in value.__mro__[1:] if _is_told(base)]
    nearest = [b for b in known if not any(b in other.__mro__[1:] for other in known) and any(_members(b, []))]
    if nearest:
        links = [f"[`{b.__name__}`]({page_of(b).name}.md#{b.__name__.lower()})" for b in nearest]
        yield f"It also has what {' and '.join(links)} {'has' if len(links) == 1 else 'have'}.\n"
    members = [_member(member, found) for member, found in _members(value, known)]
    if members:
        yield "\n".join(members) + "\n"


def _is_told(value: type) -> bool:
    return public_names().get(value.__name__, ("", None))[1] is value


def _is_made(value: type) -> bool:
    """Whether programs call the class: it says how, and is neither an interface nor a list of values."""
    if inspect.isabstract(value) or issubclass(value, Enum) or getattr(value, "_is_protocol", False):
        return False
    own = any("__init__" in vars(c) for c in value.__mro__ if c.__module__.startswith("penstock"))
    return own or hasattr(value, "__struct_fields__")


def _members(value: type, known: list[type]) -> Iterator[tuple[str, Any]]:
    """Methods and properties of a class, and of its bases that have no entry of their own."""
    told: set[str] = {n for base in known for n in vars(base)} - set(vars(value))
    fields = {*getattr(value, "__struct_fields__", ()), *getattr(value, "__dataclass_fields__", ())}
    for owner in value.__mro__:
        if not owner.__module__.startswith("penstock") or owner in known:
            continue
        for name, member in vars(owner).items():
            inner = name in INNER or name in INNER_OF.get(value.__name__, ())
            if name[0] == "_" or name in told or name in fields or inner or _only_overrides(name, member, known):
                continue
            if inspect.isfunction(member) or isinstance(member, (staticmethod, classmethod, property)):
                told.add(name)
                yield name, member


def _only_overrides(name: str, member: Any, known: list[type]) -> bool:
    """Whether a member keeps a promise that the entry of another class makes: it has nothing to say of its own."""
    return not getattr(member, "__func__", member).__doc__ and any(name in vars(base) for base in known)


def _member(name: str, member: Any) -> str:
    if isinstance(member, property):
        returned = inspect.signature(member.fget).return_annotation if member.fget else inspect.Signature.empty
        head = f"- `{name}: {_annotation(returned)}`"
    else:
        head = (
            f"- `{name}{_signature(getattr(member, '__func__', member), bound=not isinstance(member, staticmethod))}`"
        )
    text = "\n".join(_doc(member)).strip()
    return f"{head}\n{_indented(text)}" if text else head


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.splitlines())


def _doc(value: Any) -> Iterator[str]:
    """A docstring; its examples as blocks of text, which run as doctests."""
    own = getattr(value, "__func__", value).__doc__ or ""
    if own.startswith((f"{getattr(value, '__name__', '')}(", "An enumeration")):
        return  # written by dataclass or Enum
    for part in inspect.cleandoc(own).split("\n\n") if own else []:
        at = part.find(">>> ") if ">>> " in part else len(part)
        if words := part[:at].strip():
            yield f"{words}\n"
        if example := part[at:]:
            yield f"```text\n{example}\n```\n"


# -- signatures


def _signature(value: Any, bound: bool = False) -> str:
    found = inspect.signature(value)
    parameters = list(found.parameters.values())[1 if bound else 0 :]
    parts: list[str] = []
    keyword_only = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            if not any(q.kind is q.VAR_POSITIONAL for q in parameters):
                parts.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = star + p.name
        if p.annotation is not p.empty:
            text += f": {_annotation(p.annotation)}"
        if p.default is not p.empty:
            text += f" = {_default(p.default)}"
        parts.append(text)
    returned = (
        "" if inspect.isclass(value) or found.return_annotation is found.empty else _annotation(found.return_annotation)
    )
    return f"({', '.join(parts)})" + (f" -> {returned}" if returned else "")


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:typing|collections\.abc|penstock(?:\.\w+)*)\.", "", text)


def _default(value: Any) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if inspect.isclass(value) or inspect.isroutine(value):
        return str(value.__name__)
    return "..." if re.search(r"^<| at 0x", repr(value)) else repr(value)
