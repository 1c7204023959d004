"""Options of a job, as a program sets them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from penstock.config.kinds import LIST, read_flag
from penstock.config.registry import Option, find, is_tuning, refuse
from penstock.errors import ConfigError, OptionIgnored, UnsupportedOperation

OPTIONS_VARIABLE = "PENSTOCK_OPTIONS"


class Configuration:
    """Options of a job, checked against the registry. Those of the variable PENSTOCK_OPTIONS are its defaults.

    Keys of Flink's are known where the meaning is the same. Those that only tune Flink's own machinery are kept and ignored,
    with a warning. Keys that begin with `spark.` are Spark's. Any other key is refused.

    >>> Configuration({"state.checkpoints.dir": "file:///data"}).get_string("execution.checkpointing.dir", "")
    '/data'
    """

    def __init__(self, other: Configuration | Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {}  # by the key of the registry; read
        self._others: dict[str, str] = {}  # of Spark's, and of Flink's machinery; as given
        if isinstance(other, Configuration):
            self._values, self._others = dict(other._values), dict(other._others)
            return
        for key, value in {**given_options(), **(other or {})}.items():
            self.set(key, value)

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        """A configuration with these values, each checked by its option."""
        return cls(map)

    # -- by option, for Penstock itself

    def set(self, key: str, value: Any) -> Configuration:
        """Sets an option by its key or an older name of it."""
        option = find(key)
        if option is not None:
            self._values[option.key] = option.read(value)
        elif key.startswith("spark."):
            self._others[key] = str(value)
        elif is_tuning(key):
            warnings.warn(
                f"Option '{key}' tunes Flink's own machinery and has no effect here.", OptionIgnored, stacklevel=3
            )
            self._others[key] = str(value)
        else:
            refuse(key)
        return self

    def get(self, option: Option) -> Any:
        """The value of an option; its default where nothing was set."""
        return self._values.get(option.key, option.default)

    def is_set(self, option: Option) -> bool:
        """Whether somebody chose a value for an option."""
        return option.key in self._values

    def unset(self, option: Option) -> None:
        """Forgets what was set."""
        self._values.pop(option.key, None)

    def add_to(self, option: Option, *more: str) -> None:
        """Adds to an option that is a list."""
        self._values[option.key] = [*self.get(option), *more]

    @property
    def spark(self) -> dict[str, str]:
        """Spark's own settings."""
        return {k: v for k, v in self._others.items() if k.startswith("spark.")}

    def copy(self) -> Configuration:
        """The same values in a configuration of its own."""
        return Configuration(self)

    # -- by key, as PyFlink has it

    def set_string(self, key: str, value: str) -> Configuration:
        """Sets a value."""
        return self.set(key, value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Sets a whole number."""
        return self.set(key, value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Sets true or false."""
        return self.set(key, value)

    def set_float(self, key: str, value: float) -> Configuration:
        """Sets a number."""
        return self.set(key, value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Sets bytes."""
        raise UnsupportedOperation("OPTION_BYTES", f"Option '{key}' was given bytes; no option is made of bytes.")

    def get_string(self, key: str, default_value: str | None = None) -> str | None:
        """The value of a key as text, as it would be written in a file."""
        text = self._text(key)
        return default_value if text is None else text

    def get_integer(self, key: str, default_value: int | None = None) -> int | None:
        """The value of a key as a whole number; the given default where nothing was set."""
        text = self._text(key)
        return default_value if text is None else self._converted(key, text, int)

    def get_boolean(self, key: str, default_value: bool | None = None) -> bool | None:
        """The value of a key as true or false; the given default where nothing was set."""
        text = self._text(key)
        return default_value if text is None else self._converted(key, text, read_flag)

    def get_float(self, key: str, default_value: float | None = None) -> float | None:
        """The value of a key as a number; the given default where nothing was set."""
        text = self._text(key)
        return default_value if text is None else self._converted(key, text, float)

    def get_bytearray(self, key: str, default_value: bytearray | None = None) -> bytearray | None:
        """The value of a key as bytes; the given default where nothing was set."""
        text = self._text(key)
        return default_value if text is None else bytearray(text, "utf-8")

    def _text(self, key: str) -> str | None:
        option = find(key)
        if option is None:
            return self._others.get(key)
        return option.kind.write(self._values[option.key]) if self.is_set(option) else None

    def _converted(self, key: str, text: str, reader: Any) -> Any:
        option = find(key)
        value = None if option is None else self._values[option.key]
        if reader is not read_flag and type(value) in (int, float):
            return reader(value)  # a duration is a number of milliseconds, a size one of bytes
        try:
            return reader(text)
        except ValueError as error:
            raise ConfigError(
                "OPTION_TYPE", f"Option '{key}' is '{text}', which cannot be read as asked. Use get_string('{key}')."
            ) from error

    def key_set(self) -> AbstractSet[str]:
        """The keys that were set."""
        return {*self._values, *self._others}

    def contains_key(self, key: str) -> bool:
        """Whether a key was set."""
        return self._text(key) is not None

    def remove_config(self, key: str) -> bool:
        """Takes a key out; says whether it was there."""
        option = find(key)
        if option is not None:
            return self._values.pop(option.key, self) is not self
        return self._others.pop(key, None) is not None

    def to_dict(self) -> dict[str, str]:
        """All that was set, as text."""
        return {key: text for key in sorted(self.key_set()) if (text := self._text(key)) is not None}

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Puts all that was set into a dict."""
        target_dict.update(self.to_dict())

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Takes over all of another one's; with a prefix, put before their keys."""
        if prefix is None:
            self._values.update(other._values)
            self._others.update(other._others)
        else:
            for key, value in other.to_dict().items():
                self.set(f"{prefix}{key}", value)
        return self

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The parts of a list as Flink writes it.

        >>> Configuration.parse_list_value("[a, b]"), Configuration.parse_list_value("a;b")
        (['a', 'b'], ['a', 'b'])
        """
        parts: list[str] = LIST.read(value) if value else []
        return parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(tuple(self.to_dict().items()))

    def __str__(self) -> str:
        return str(self.to_dict())

    def __deepcopy__(self, memo: Any = None) -> Configuration:
        return self.copy()


def given_options() -> dict[str, Any]:
    """The options in the environment variable PENSTOCK_OPTIONS, a JSON object: what `penstock run` was given."""
    text = os.environ.get(OPTIONS_VARIABLE, "")
    try:
        given = json.loads(text or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise ConfigError(
            "OPTIONS_VARIABLE",
            f"The environment variable {OPTIONS_VARIABLE} is {text[:200]!r}; a JSON object of options is expected. "
            "Correct it or unset it.",
        )
    return given
