"""The options of asynchronous scalar functions: table.exec.async-scalar.*."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import ConfigError
from penstock.runtime.relational.python_functions.function import AsyncLimits
from penstock.table.lower.settings import duration_in_ms

_PREFIX = "table.exec.async-scalar."


def async_limits(options: Mapping[str, str]) -> AsyncLimits:
    """Returns the limits that options set.

    >>> async_limits({"table.exec.async-scalar.timeout": "5 s", "table.exec.async-scalar.retry-strategy": "NO_RETRY"})
    AsyncLimits(capacity=10, timeout=5000, attempts=0, delay=100)
    """
    usual = AsyncLimits()
    retries = options.get(f"{_PREFIX}retry-strategy", "FIXED_DELAY").upper() != "NO_RETRY"
    return AsyncLimits(
        _number(options, "max-concurrent-operations", options.get(f"{_PREFIX}buffer-capacity", str(usual.capacity))),
        _milliseconds(options, "timeout", usual.timeout),
        _number(options, "max-attempts", str(usual.attempts)) if retries else 0,
        max(_milliseconds(options, "retry-delay", usual.delay), 1),
    )


def _milliseconds(options: Mapping[str, str], name: str, default: int) -> int:
    value = options.get(_PREFIX + name)
    return default if not value else duration_in_ms(_PREFIX + name, value)


def _number(options: Mapping[str, str], name: str, default: str) -> int:
    value = options.get(_PREFIX + name) or default
    if not value.isdecimal() or not int(value):
        raise ConfigError("SQL_OPTION", f"Option '{_PREFIX}{name}' is '{value}', but expects a number above 0.")
    return int(value)
