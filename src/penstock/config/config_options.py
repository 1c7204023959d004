"""`ConfigOptions` and `ConfigOption` of PyFlink: options by key and type, such as those of table descriptors."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ConfigOption(Generic[T]):
    """The key, the type and the default value of an option."""

    def __init__(self, key: str, kind: type, default: T | None = None) -> None:
        self._key = key
        self.kind = kind
        self.default = default

    def key(self) -> str:
        """Returns the key."""
        return self._key

    def __str__(self) -> str:
        return self._key


class ConfigOptions:
    """Builds options.

    A `TableDescriptor` takes any option, because connectors check theirs. The options of a `Configuration` are fixed, so that
    misspelled keys are detected.

    >>> ConfigOptions.key("rows-per-second").int_type().no_default_value().key()
    'rows-per-second'
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Starts to build the option of a key."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Sets the type of an option."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """The values are booleans."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """The values are integers."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        long_type = int_type

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """The values are floating-point numbers."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        double_type = float_type

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """The values are strings."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """Sets the default value of an option."""

        def __init__(self, key: str, kind: type) -> None:
            self._key = key
            self._kind = kind

        def default_value(self, value: T) -> ConfigOption[T]:
            """Returns the option with a default value."""
            return ConfigOption(self._key, self._kind, value)

        def no_default_value(self) -> ConfigOption[Any]:
            """Returns the option without a default value."""
            return ConfigOption(self._key, self._kind)
