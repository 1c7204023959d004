"""Typed options of tables: what a connector or a format accepts, and errors that name what is known."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from penstock.errors import ConfigError

OptionType = Literal["string", "int", "float", "duration", "memory", "boolean", "enum", "list"]

_DURATION = re.compile(r"(\d+)\s*([a-zµ]*)")
_MILLISECONDS: dict[str, float] = {
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1000),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("µs", "micro", "micros", "microsecond", "microseconds"), 1e-3),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1e-6),
}
_BYTES: dict[str, int] = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}
_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "duration": "a duration such as '10 s' or '5 min'",
    "memory": "a size such as '128mb'",
    "boolean": "true or false",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or a family of options if the name contains '*', such as 'properties.*'.

    `refused` says why Penstock does not support an option that Flink has. Setting it is an error with this reason.
    """

    name: str
    type: OptionType = "string"
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    refused: str = ""

    def with_prefix(self, prefix: str) -> Option:
        """Returns the same option of a format, such as 'json.' or 'key.json.'."""
        return replace(self, name=prefix + self.name, aliases=tuple(prefix + alias for alias in self.aliases))

    def matches(self, name: str) -> bool:
        """Whether a given name is this option or belongs to this family."""
        if "*" not in self.name:
            return name == self.name or name in self.aliases
        pattern = re.escape(self.name).replace(r"\*", "(.+)")
        return re.fullmatch(pattern, name) is not None

    def parse(self, text: str) -> Any:
        """Returns the value of a text. Raises ValueError if it has another form."""
        match self.type:
            case "int":
                return int(text.strip())
            case "float":
                return float(text.strip())
            case "boolean":
                if text.strip().lower() not in ("true", "false"):
                    raise ValueError
                return text.strip().lower() == "true"
            case "duration":
                return parse_duration(text)
            case "memory":
                return parse_memory(text)
            case "enum":
                known = {choice.lower(): choice for choice in self.choices}
                if text.strip().lower() not in known:
                    raise ValueError
                return known[text.strip().lower()]
            case "list":
                return [part.strip() for part in text.split(";") if part.strip()]
        return text

    @property
    def expected(self) -> str:
        """What a value must look like."""
        if self.type == "enum":
            return f"one of {', '.join(repr(c) for c in self.choices)}"
        return _EXPECTED.get(self.type, "a text")


def parse_duration(text: str) -> int:
    """Returns milliseconds.

    >>> parse_duration("5 min"), parse_duration("200ms")
    (300000, 200)
    """
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or match[2] not in _MILLISECONDS:
        raise ValueError
    return int(int(match[1]) * _MILLISECONDS[match[2]])


def parse_memory(text: str) -> int:
    """Returns bytes.

    >>> parse_memory("128 mb"), parse_memory("12")
    (134217728, 12)
    """
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or match[2] not in _BYTES:
        raise ValueError
    return int(match[1]) * _BYTES[match[2]]


class OptionValues:
    """The checked options of a table.

    >>> values = OptionValues("table t", "print", {"connector": "print"}, [Option("standard-error", "boolean", False)])
    >>> values["standard-error"]
    False
    """

    def __init__(self, owner: str, connector: str, given: Mapping[str, str], known: Sequence[Option]) -> None:
        self._owner = owner
        self._connector = connector
        self._given = {name: value for name, value in given.items() if name != "connector"}
        self._known = list(known)
        self._values: dict[str, Any] = {option.name: option.default for option in known if "*" not in option.name}
        self._families: dict[str, dict[str, str]] = {o.name: {} for o in known if "*" in o.name}
        self.set: set[str] = set()  # names that the table sets
        for name, text in self._given.items():
            self._take(name, text)
        self._check_required()

    def _take(self, name: str, text: str) -> None:
        option = next((o for o in self._known if "*" not in o.name and o.matches(name)), None)
        option = option or next((o for o in self._known if o.matches(name)), None)
        if option is None:
            raise self._unknown(name)
        if option.refused:
            raise self.error(f"Option '{name}' is not supported: {option.refused}")
        try:
            value = option.parse(text)
        except ValueError:
            raise self.error(f"Option '{name}' has the value '{text}'; expected {option.expected}.") from None
        if "*" in option.name:
            self._families[option.name][name] = value
        else:
            self._values[option.name] = value
            self.set.add(option.name)

    def _check_required(self) -> None:
        missing = [o.name for o in self._known if o.required and o.name not in self.set]
        if missing:
            raise self.error(
                f"Required option{'s' if len(missing) > 1 else ''} {_names(missing)} of connector '{self._connector}' "
                f"{'are' if len(missing) > 1 else 'is'} missing. Known options: {self._all_names()}."
            )

    def _unknown(self, name: str) -> ConfigError:
        near = nearest(name, [o.name for o in self._known if not o.refused])
        hint = f" Did you mean '{near}'?" if near else ""
        return self.error(
            f"Option '{name}' is unknown for connector '{self._connector}'.{hint} Known options: {self._all_names()}."
        )

    def _all_names(self) -> str:
        return ", ".join(sorted(["connector", *(o.name for o in self._known if not o.refused)]))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def family(self, name: str) -> dict[str, Any]:
        """Returns the options of a family, by their full names."""
        return self._families[name]

    def after(self, prefix: str) -> dict[str, Any]:
        """Returns the options of the family 'prefix*' without the prefix."""
        return {name[len(prefix) :]: value for name, value in self._families[f"{prefix}*"].items()}

    def with_prefix(self, prefix: str, options: Iterable[Option]) -> dict[str, Any]:
        """Returns the values of the options of a format by their own names."""
        return {option.name: self._values[prefix + option.name] for option in options if not option.refused}

    def error(self, text: str) -> ConfigError:
        """Returns an error about the options of this table."""
        return ConfigError("TABLE_OPTION", f"{self._owner}: {text}")


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Returns the known name that is most similar, or None.

    >>> nearest("pth", ["path", "format"])
    'path'
    """
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return found[0] if found else None


def owner(path: Sequence[str]) -> str:
    """Returns the name of a table for messages.

    >>> owner(("default_catalog", "default_database", "t"))
    'Table default_catalog.default_database.t'
    """
    return f"Table {'.'.join(path)}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# Options that the planner reads; every connector accepts them.
COMMON_SOURCE_OPTIONS = (
    Option("scan.parallelism", "int"),
    Option("scan.watermark.emit.strategy", "enum", choices=("on-periodic", "on-event")),
    Option("scan.watermark.emit.on-event.gap", "int", 1),
    Option("scan.watermark.alignment.group"),
    Option("scan.watermark.alignment.max-drift", "duration"),
    Option("scan.watermark.alignment.update-interval", "duration"),
    Option("scan.watermark.idle-timeout", "duration"),
)
# Options of tables whose records are decoded (connectors/dead_letters.py).
DEAD_LETTER_OPTIONS = (Option("dead-letter.table"), Option("dead-letter.path"))
COMMON_SINK_OPTIONS = (Option("sink.parallelism", "int"),)
