"""The registry of options."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, NoReturn

from penstock.config.flink_keys import REFUSED, TUNING_KEYS, TUNING_STARTS
from penstock.config.value_kinds import ValueKind
from penstock.errors import ConfigError, UnsupportedOperation

NO_EFFECT = (
    "Accepted for compatibility, has no effect:"  # the documentation of such an option continues with the reason
)


@dataclass(frozen=True, slots=True)
class Option:
    """An option. `aliases` are its deprecated keys, as in Flink, and `former` is its key in earlier versions of Penstock."""

    key: str
    kind: ValueKind
    default: Any
    doc: str
    aliases: tuple[str, ...] = ()
    always: Any = None  # of an option without effect: the value that describes what happens anyway, if not the default
    former: str = ""

    def is_ignored(self, value: Any) -> bool:
        """Returns whether a value requests something that does not happen, because the option has no effect."""
        return self.doc.startswith(NO_EFFECT) and value not in (self.default, self.always)

    def read(self, value: Any) -> Any:
        """Converts a configured value to the value that the program uses."""
        try:
            return self.kind.read(value)
        except (ValueError, TypeError) as error:
            example = f", for example '{self.kind.example}'" if self.kind.example else ""
            raise ConfigError(
                "OPTION_VALUE",
                f"Option '{self.key}' is {value!r}, but its type is {self.kind.name}{example}. {self.doc}",
            ) from error

    def default_text(self) -> str:
        """Returns the default as text, or an empty string if there is none."""
        return "" if self.default in (None, "", [], {}) else self.kind.write(self.default)


_OPTIONS: dict[str, Option] = {}
_NAMES: dict[str, Option] = {}  # by key and by alias


def define(
    key: str, kind: ValueKind, default: Any, doc: str, *aliases: str, always: Any = None, former: str = ""
) -> Option:
    """Adds an option to the registry."""
    option = _OPTIONS[key] = Option(key, kind, default, doc, aliases, always, former)
    for name in filter(None, (key, former, *aliases)):
        assert name not in _NAMES, name
        _NAMES[name] = option
    return option


def options() -> list[Option]:
    """Returns all options, sorted by key."""
    return sorted(_OPTIONS.values(), key=lambda o: o.key)


def find(key: str) -> Option | None:
    """Returns the option with a key or an alias."""
    return _NAMES.get(key)


def is_tuning(key: str) -> bool:
    """Returns whether a key only tunes the internals of Flink."""
    return key in TUNING_KEYS or key.startswith(TUNING_STARTS)


def reject_misspelled(key: str) -> None:
    """Raises an error for a key of Flink that is not supported, or one that looks like an option but is none.

    A key looks like an option if it is similar to one or belongs to a group of options, such as `execution`. Other keys are
    settings of the program.
    """
    _reject_unsupported(key)
    if key.partition(".")[0] in {name.partition(".")[0] for name in _NAMES if "." in name} or _similar(key, 0.75):
        _reject_unknown(key)


def reject_key(key: str) -> None:
    """Raises an error for a key that is not supported or not known."""
    _reject_unsupported(key)
    if find(key) is None and not key.startswith("spark.") and not is_tuning(key):
        _reject_unknown(key)


def _reject_unsupported(key: str) -> None:
    for start, reason in REFUSED.items():
        if key.startswith(start):
            raise UnsupportedOperation("FLINK_OPTION", f"Option '{key}' is not supported: {reason}.")


def _reject_unknown(key: str) -> NoReturn:
    similar = _similar(key, 0.6)
    hint = f" Did you mean '{similar[0]}'?" if similar else ""
    raise ConfigError(
        "UNKNOWN_OPTION", f"There is no option '{key}'.{hint} docs/reference/options.md lists all options."
    )


def _similar(key: str, least: float) -> list[str]:
    return difflib.get_close_matches(key, _NAMES, 1, least)
