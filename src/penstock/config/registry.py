"""The registry of options: one entry per key, and the keys of Flink's that mean nothing here."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from penstock.config.flink_keys import REFUSED, TUNING_KEYS, TUNING_STARTS
from penstock.config.kinds import Kind
from penstock.errors import ConfigError, UnsupportedOperation


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `aliases` are older names of the same thing, as Flink has them."""

    key: str
    kind: Kind
    default: Any
    doc: str
    aliases: tuple[str, ...] = ()

    def read(self, value: Any) -> Any:
        """A given value as what the program works with."""
        try:
            return self.kind.read(value)
        except (ValueError, TypeError) as error:
            example = f", for example '{self.kind.example}'" if self.kind.example else ""
            raise ConfigError(
                "OPTION_VALUE",
                f"Option '{self.key}' is {value!r}; its type is {self.kind.name}{example}. {self.doc}",
            ) from error

    def shown_default(self) -> str:
        """The default as it would be given; nothing: there is none."""
        return "" if self.default in (None, "", [], {}) else self.kind.write(self.default)


_OPTIONS: dict[str, Option] = {}
_NAMES: dict[str, Option] = {}  # aliases too


def define(key: str, kind: Kind, default: Any, doc: str, *aliases: str) -> Option:
    """Adds an option to the registry."""
    option = _OPTIONS[key] = Option(key, kind, default, doc, aliases)
    for name in (key, *aliases):
        assert name not in _NAMES, name
        _NAMES[name] = option
    return option


def options() -> list[Option]:
    """Every option, by key."""
    return sorted(_OPTIONS.values(), key=lambda o: o.key)


def find(key: str) -> Option | None:
    """The option of a key or of an older name of it."""
    return _NAMES.get(key)


def is_tuning(key: str) -> bool:
    """Whether a key is one of Flink's that tunes Flink's own machinery."""
    return key in TUNING_KEYS or key.startswith(TUNING_STARTS)


def refuse(key: str) -> None:
    """Says why a key is not taken: Flink has it and Penstock cannot follow, or nobody knows it."""
    for start, reason in REFUSED.items():
        if key.startswith(start):
            raise UnsupportedOperation("FLINK_OPTION", f"Option '{key}' has no effect on Spark: {reason}.")
    near = difflib.get_close_matches(key, _NAMES, 1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise ConfigError("UNKNOWN_OPTION", f"There is no option '{key}'.{hint} docs/reference/options.md lists them all.")
