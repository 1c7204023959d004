"""Generates the pages of docs/reference/api from signatures and docstrings. `make_reference.py` writes them."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

# Modules with public names. A name in several modules is listed with the first one as its import path.
PUBLIC_MODULES = (
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
STABLE_MODULES = (
    "penstock",
    "penstock.testing",
    "penstock.connectors",
    "penstock.formats",
    "penstock.cep",
    "penstock.state_processor",
)

# Methods for other layers of Penstock, which are not part of the public API.
INTERNAL_METHODS = {"write_to", "chosen_parallelism"}
INTERNAL_METHODS_OF = {
    "StreamExecutionEnvironment": {"add", "replace", "next_id", "unique", "graph", "collect", "files", "job_parameters"}
}
# Programs do not call the constructors of these classes, so they are not listed. Penstock or static methods create the objects.
WITHOUT_CONSTRUCTOR = {
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
    """A page. A class is listed on the page with the longest matching prefix of its module name."""

    name: str
    title: str
    intro: str
    modules: tuple[str, ...]
    lists_constructors: bool = True


PAGES = (
    Page(
        "environment",
        "Environment",
        "A program creates an environment, creates streams from it, and runs the job.",
        ("penstock", "penstock.datastream.environment", "penstock.datastream", "penstock.config"),
    ),
    Page(
        "streams",
        "Streams",
        "Every method adds a step to the job and returns the resulting stream. Nothing runs before `execute`. A plain function can "
        'be used instead of a function class. `on_error` is `"fail"` or `"dead_letter"`.',
        (
            "penstock.datastream.streams.data_stream",
            "penstock.datastream.streams.keyed_stream",
            "penstock.datastream.streams.async_data_stream",
            "penstock.datastream.streams.enrichment",
            "penstock.datastream.streams.connected_streams",
            "penstock.datastream.streams.joined_streams",
            "penstock.datastream.streams.interval_join",
            "penstock.datastream.streams.broadcast_stream",
            "penstock.datastream.streams.sink",
            "penstock.datastream.jobs.closeable_iterator",
            "penstock.datastream.streams.windowed_stream",
            "penstock.datastream.streams.all_windowed_stream",
        ),
        lists_constructors=False,
    ),
    Page(
        "functions",
        "Functions",
        "Base classes of user-defined functions, and the contexts that are passed to them. A process function yields elements. It "
        "yields `(tag, value)` to emit to a side output.",
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
        "A function gets state in `open` with a descriptor, and stores the returned state object in an attribute. The state object "
        "always accesses the state of the current key.",
        ("penstock.state", "penstock.ttl"),
    ),
    Page(
        "state-processor",
        "State processor",
        "Reads savepoints as tables and writes tables as savepoints, without the job that wrote them. Tables are Arrow tables, "
        "pandas or Spark DataFrames, or dicts.",
        ("penstock.state_processor", "penstock.savepoints"),
    ),
    Page("time", "Time", "Durations, timestamps, watermarks. Numbers are milliseconds.", ("penstock.time",)),
    Page(
        "types",
        "Types and rows",
        "Declared types of state and elements. Without a declared type, values can be any Python objects.",
        ("penstock.types", "penstock.row"),
    ),
    Page(
        "metrics",
        "Metrics",
        "Metrics that a function registers with `runtime_context.get_metrics_group()`, and the totals of a job.",
        ("penstock.metrics",),
        lists_constructors=False,
    ),
    Page(
        "windows",
        "Windows",
        "Window assigners assign elements to windows. Triggers determine when a window emits its result.",
        ("penstock.windows",),
    ),
    Page(
        "patterns",
        "Patterns",
        "Patterns of events, streams of matches, and functions that process matches. "
        "[Find patterns](../../how-to/find-patterns.md) shows how to use them. Durations can be a `Duration`, a `timedelta` or "
        "milliseconds.",
        (
            "penstock.patterns.pattern",
            "penstock.patterns.skip",
            "penstock.patterns.update",
            "penstock.datastream.streams.pattern_stream",
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
        "Deserialization and serialization of messages and files. "
        "[Read and write formats](../../how-to/read-and-write-formats.md) shows how to use them.",
        ("penstock.formats",),
    ),
    Page(
        "testing",
        "Testing",
        "Runs a pipeline in the test process. [Test a pipeline](../../how-to/test-a-pipeline.md) shows how.",
        ("penstock.testing.harness", "penstock.testing", "penstock.connectors.scripted"),
    ),
)


# -- public names and their pages


@functools.cache
def public_names() -> dict[str, tuple[str, Any]]:
    """Returns the public classes and functions: name to import path and object."""
    found: dict[str, tuple[str, Any]] = {}
    for path in PUBLIC_MODULES:
        module = importlib.import_module(path)
        names = getattr(module, "__all__", None) or [
            n for n, v in vars(module).items() if isinstance(v, type) and v.__module__ == path and n[0] != "_"
        ]
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found.setdefault(name, (path, value))
    return found


def page_of(value: Any) -> Page:
    """Returns the page that lists a class or function."""
    return max(PAGES, key=lambda page: max(_prefix_lengths(value.__module__, page)))


def _prefix_lengths(module: str, page: Page) -> Iterator[int]:
    yield -1
    yield from (len(m) for m in page.modules if module == m or module.startswith(f"{m}."))


def entries(page: Page) -> list[tuple[str, str, Any]]:
    """Returns name, import path and object of the entries of a page, in the order of its modules and then of the source code."""
    listed = [(name, path, value) for name, (path, value) in public_names().items() if page_of(value) is page]

    def order(entry: tuple[str, str, Any]) -> tuple[int, str, int]:
        module = entry[2].__module__
        rank = max(
            range(len(page.modules)), key=lambda i: len(page.modules[i]) if module.startswith(page.modules[i]) else 0
        )
        return rank, module, inspect.getsourcelines(entry[2])[1]

    return sorted(listed, key=order)


# -- text


def pages() -> dict[str, str]:
    """Returns the text of each page that has entries, by file name."""
    filled = [page for page in PAGES if entries(page)]
    return {"index.md": _index(filled)} | {f"{page.name}.md": _text(page) for page in filled}


_GENERATED = "<!-- Generated by scripts/make_reference.py. Change the docstrings in the code instead. -->\n"


def _index(filled: list[Page]) -> str:
    lines = [
        "# Public API\n",
        _GENERATED,
        "Signatures and docstrings of the public classes. Import paths in "
        + _code_list(STABLE_MODULES)
        + " are stable.",
        "Other classes are listed because public methods accept or return them. Their import paths may change.\n",
        "| page | names |",
        "|---|---|",
    ]
    for page in filled:
        names = ", ".join(f"`{name}`" for name, _, _ in entries(page))
        lines.append(f"| [{page.title}]({page.name}.md) | {names} |")
    return "\n".join(lines) + "\n"


def _code_list(names: Iterable[str]) -> str:
    *others, last = (f"`{name}`" for name in names)
    return f"{', '.join(others)} and {last}"


def _text(page: Page) -> str:
    parts = [f"# {page.title}\n", _GENERATED, f"{page.intro}\n"]
    for name, path, value in entries(page):
        parts.append(f"## `{name}`\n")
        if path not in STABLE_MODULES:
            parts.append(f"`{path}.{name}`\n")
        elif path != "penstock":
            parts.append(f"`from {path} import {name}`\n")
        parts += _function(name, value) if inspect.isfunction(value) else _class(name, value, page)
    return "\n".join(parts)


def _function(name: str, value: Any) -> Iterator[str]:
    yield f"`{name}{_signature(value)}`\n"
    yield from _doc(value)


def _class(name: str, value: type, page: Page) -> Iterator[str]:
    if page.lists_constructors and name not in WITHOUT_CONSTRUCTOR and _is_instantiated(value):
        yield f"`{name}{_signature(value)}`\n"
    yield from _doc(value)
    if issubclass(value, Enum):
        yield f"Values: {', '.join(f'`{member.name}`' for member in value)}.\n"
        return
    bases = [base for base in value.__mro__[1:] if is_listed(base)]
    nearest = [b for b in bases if not any(b in other.__mro__[1:] for other in bases) and any(public_members(b, []))]
    if nearest:
        links = [f"[`{b.__name__}`]({page_of(b).name}.md#{b.__name__.lower()})" for b in nearest]
        yield f"Inherits the methods of {' and '.join(links)}.\n"
    members = [_member(member, found) for member, found in public_members(value, bases)]
    if members:
        yield "\n".join(members) + "\n"


def is_listed(value: type) -> bool:
    """Returns whether a class has an entry on one of the pages."""
    return public_names().get(value.__name__, ("", None))[1] is value


def _is_instantiated(value: type) -> bool:
    """Returns whether programs call the class: it has a constructor, and is neither abstract nor an enumeration."""
    if inspect.isabstract(value) or issubclass(value, Enum) or getattr(value, "_is_protocol", False):
        return False
    own = any("__init__" in vars(c) for c in value.__mro__ if c.__module__.startswith("penstock"))
    return own or hasattr(value, "__struct_fields__")


def public_members(value: type, bases: list[type]) -> Iterator[tuple[str, Any]]:
    """Yields the methods and properties of a class, and of its base classes that are not in `bases`, the listed ones."""
    listed: set[str] = {n for base in bases for n in vars(base)} - set(vars(value))
    fields = {*getattr(value, "__struct_fields__", ()), *getattr(value, "__dataclass_fields__", ())}
    for owner in value.__mro__:
        if not owner.__module__.startswith("penstock") or owner in bases:
            continue
        for name, member in vars(owner).items():
            internal = name in INTERNAL_METHODS or name in INTERNAL_METHODS_OF.get(value.__name__, ())
            if name[0] == "_" or name in listed or name in fields or internal or _only_overrides(name, member, bases):
                continue
            if inspect.isfunction(member) or isinstance(member, (staticmethod, classmethod, property)):
                listed.add(name)
                yield name, member


def _only_overrides(name: str, member: Any, bases: list[type]) -> bool:
    """Returns whether a member overrides a member of a listed base class and has no docstring."""
    return not getattr(member, "__func__", member).__doc__ and any(name in vars(base) for base in bases)


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
    """Yields the paragraphs of a docstring. Examples, which are run as doctests, become text blocks."""
    docstring = getattr(value, "__func__", value).__doc__ or ""
    if docstring.startswith((f"{getattr(value, '__name__', '')}(", "An enumeration")):
        return  # generated by dataclass or Enum
    for part in inspect.cleandoc(docstring).split("\n\n") if docstring else []:
        at = part.find(">>> ") if ">>> " in part else len(part)
        if text := part[:at].strip():
            yield f"{text}\n"
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
