"""The configuration of a job."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from penstock.config.registry import NO_EFFECT, Option, find, is_tuning, reject_misspelled
from penstock.config.value_kinds import DURATION, LIST, MEMORY, read_boolean
from penstock.errors import ConfigError, warn_deprecated, warn_ignored

OPTIONS_VARIABLE = "PENSTOCK_OPTIONS"


class Configuration:
    """The options of a job.

    Keys and values are checked when they are set (docs/reference/options.md lists all options). Flink's keys are supported where
    the meaning is the same. Flink's keys that only tune its internals are stored and ignored, with a warning. Keys that start
    with `spark.` are passed to Spark. A program may store settings of its own under other keys, but a key that looks like a
    misspelled option is rejected. The environment variable PENSTOCK_OPTIONS contains defaults as a JSON object.

    >>> Configuration({"state.checkpoints.dir": "file:///data"}).get_string("execution.checkpointing.dir", "")
    '/data'
    """

    def __init__(self, other: Configuration | Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {}  # by the key of the option, converted
        self._others: dict[
            str, Any
        ] = {}  # options of Spark, ignored options of Flink and settings of the program, as set
        if isinstance(other, Configuration):
            self._values, self._others = dict(other._values), dict(other._others)
            return
        for key, value in {**environment_options(), **(other or {})}.items():
            self.set(key, value)

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        """Creates a configuration from keys and values."""
        return cls(map)

    # -- access by option, used by Penstock

    def set(self, key: str, value: Any) -> Configuration:
        """Sets an option by its key or by a deprecated key of it."""
        option = find(key)
        if option is not None:
            read = self._values[option.key] = option.read(value)
            if key == option.former:
                warn_deprecated(f"Option '{key}' is now '{option.key}'.")
            if option.is_ignored(read):
                reason = option.doc.removeprefix(NO_EFFECT).strip()
                warn_ignored(f"Option '{key}' has no effect in Penstock: {reason}")
        elif key.startswith("spark."):
            self._others[key] = value
        elif is_tuning(key):
            warn_ignored(f"Option '{key}' tunes internals of Flink and has no effect in Penstock.")
            self._others[key] = value
        else:
            reject_misspelled(key)
            self._others[key] = value
        return self

    def get(self, option: Option) -> Any:
        """Returns the value of an option, or its default if it is not set."""
        return self._values.get(option.key, option.default)

    def is_set(self, option: Option) -> bool:
        """Returns whether an option is set."""
        return option.key in self._values

    def unset(self, option: Option) -> None:
        """Removes the value of an option."""
        self._values.pop(option.key, None)

    def add_to(self, option: Option, *more: str) -> None:
        """Appends values to an option that is a list."""
        self._values[option.key] = [*self.get(option), *more]

    @property
    def spark(self) -> dict[str, str]:
        """The options that are passed to Spark."""
        return {k: _as_text(v) for k, v in self._others.items() if k.startswith("spark.")}

    def copy(self) -> Configuration:
        """Returns an independent copy."""
        return Configuration(self)

    # -- access by key, as in PyFlink

    def set_string(self, key: str, value: str) -> Configuration:
        """Sets an option to a string, which is converted to the type of the option."""
        return self.set(key, value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Sets an option to an integer."""
        return self.set(key, value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Sets an option to a Boolean."""
        return self.set(key, value)

    def set_float(self, key: str, value: float) -> Configuration:
        """Sets an option to a float."""
        return self.set(key, value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Sets a key of the program's own to bytes. No option has bytes as its value."""
        return self.set(key, bytearray(value))

    def get_string(self, key: str, default_value: str | None = None) -> str | None:
        """Returns the value of a key as text, as in a configuration file, or the default value if the key is not set."""
        text = self._text(key)
        return default_value if text is None else text

    def get_integer(self, key: str, default_value: int | None = None) -> int | None:
        """Returns the value of a key as an integer, or the default value if the key is not set. Durations are milliseconds."""
        text = self._text(key)
        return default_value if text is None else self._convert(key, text, int)

    def get_boolean(self, key: str, default_value: bool | None = None) -> bool | None:
        """Returns the value of a key as a Boolean, or the default value if the key is not set."""
        text = self._text(key)
        return default_value if text is None else self._convert(key, text, read_boolean)

    def get_float(self, key: str, default_value: float | None = None) -> float | None:
        """Returns the value of a key as a float, or the default value if the key is not set."""
        text = self._text(key)
        return default_value if text is None else self._convert(key, text, float)

    def get_bytearray(self, key: str, default_value: bytearray | None = None) -> bytearray | None:
        """Returns the bytes of a key, or its text as UTF-8 bytes, or the default value if the key is not set."""
        if isinstance(value := self._others.get(key), bytearray):
            return bytearray(value)
        text = self._text(key)
        return default_value if text is None else bytearray(text, "utf-8")

    def _text(self, key: str) -> str | None:
        option = find(key)
        if option is None:
            return _as_text(self._others[key]) if key in self._others else None
        return option.kind.write(self._values[option.key]) if self.is_set(option) else None

    def _value(self, key: str) -> Any:
        """Returns the number, Boolean or bytes of a key, or its text."""
        option = find(key)
        if option is None:
            return self._others[key]
        value = self._values[option.key]
        return self._text(key) if option.kind in (DURATION, MEMORY) or not isinstance(value, (int, float)) else value

    def _convert(self, key: str, text: str, reader: Any) -> Any:
        option = find(key)
        value = None if option is None else self._values[option.key]
        if reader is not read_boolean and type(value) in (int, float):
            return reader(value)  # durations are in milliseconds, memory sizes in bytes
        try:
            return reader(text)
        except ValueError as error:
            raise ConfigError(
                "OPTION_TYPE",
                f"The value '{text}' of option '{key}' has another type. Use get_string('{key}').",
            ) from error

    def key_set(self) -> AbstractSet[str]:
        """Returns the keys that are set."""
        return {*self._values, *self._others}

    def contains_key(self, key: str) -> bool:
        """Returns whether a key is set."""
        return self._text(key) is not None

    def remove_config(self, key: str) -> bool:
        """Removes a key. Returns whether it was set."""
        option = find(key)
        if option is not None:
            return self._values.pop(option.key, self) is not self
        return self._others.pop(key, None) is not None

    def to_dict(self) -> dict[str, str]:
        """Returns all keys that are set with their values as text."""
        return {key: text for key in sorted(self.key_set()) if (text := self._text(key)) is not None}

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Adds all keys that are set to a dict. Numbers, Booleans and bytes keep their types, other values are text."""
        target_dict.update({key: self._value(key) for key in sorted(self.key_set())})

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Copies all options of another configuration. With a prefix, it is prepended to their keys."""
        if prefix is None:
            self._values.update(other._values)
            self._others.update(other._others)
        else:
            for key in sorted(other.key_set()):
                self.set(f"{prefix}{key}", other._value(key))
        return self

    @staticmethod
    def parse_list_value(value: str | None) -> list[str]:
        """Returns the elements of a list in Flink's notations.

        >>> [Configuration.parse_list_value(text) for text in ("[a, b]", "- a\\n- b", "a;b")]
        [['a', 'b'], ['a', 'b'], ['a', 'b']]
        """
        parts: list[str] = LIST.read(value) if value else []
        return parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(tuple(self.to_dict().items()))

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key}={text}" for key, text in self.to_dict().items()) + "}"

    def __deepcopy__(self, memo: Any = None) -> Configuration:
        return self.copy()


def _as_text(value: Any) -> str:
    """Returns a value as in a configuration file."""
    if isinstance(value, bool):
        return str(value).lower()
    return bytes(value).decode("utf-8", "replace") if isinstance(value, (bytes, bytearray)) else str(value)


def environment_options() -> dict[str, Any]:
    """Returns the options in the environment variable PENSTOCK_OPTIONS, which `penstock run` sets to a JSON object."""
    text = os.environ.get(OPTIONS_VARIABLE, "")
    try:
        options = json.loads(text or "{}")
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise ConfigError(
            "OPTIONS_VARIABLE",
            f"The environment variable {OPTIONS_VARIABLE} is {text[:200]!r}, but must be a JSON object of options. "
            "Correct it or unset it.",
        )
    return options
