"""The hint LOOKUP of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.runtime.relational.joins.lookup.settings import RetrySettings
from penstock.table.connectors.options import Option

_KNOWN = (
    Option("table", required=True),
    Option("async", "boolean"),
    Option("output-mode", "enum", "ordered", choices=("ordered", "allow_unordered")),
    Option("capacity", "int"),
    Option("timeout", "duration"),
    Option("retry-predicate", "enum", choices=("lookup_miss",)),
    Option("retry-strategy", "enum", choices=("fixed_delay",)),
    Option("fixed-delay", "duration"),
    Option("max-attempts", "int"),
    Option("shuffle", "boolean", False),
)
_RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")


@dataclass(frozen=True, slots=True)
class LookupHint:
    """What a hint asks for. Rows are always in order, and a batch is one request, so that other options change nothing."""

    retry: RetrySettings | None = None
    timeout: int | None = None
    shuffle: bool = False


def read_lookup_hint(given: Mapping[str, str]) -> LookupHint:
    """Returns a hint. Raises ValueError with the reason if it is wrong.

    >>> read_lookup_hint({"table": "d", "timeout": "5 s"}).timeout
    5000
    """
    known = {option.name: option for option in _KNOWN}
    values: dict[str, Any] = {option.name: option.default for option in _KNOWN}
    for name, text in given.items():
        option = known.get(name)
        if option is None:
            raise ValueError(f"the hint LOOKUP has no option '{name}'. Known options: {', '.join(known)}.")
        try:
            values[name] = option.parse(text)
        except ValueError:
            raise ValueError(f"option '{name}' of LOOKUP is '{text}'; expected {option.expected}.") from None
    if values["table"] is None:
        raise ValueError("the hint LOOKUP needs the option 'table', which names the table that is looked up.")
    set_ = [name for name in _RETRY if values[name] is not None]
    retry = None
    if set_ and len(set_) < len(_RETRY):
        missing = ", ".join(f"'{name}'" for name in _RETRY if name not in set_)
        raise ValueError(f"a retry in LOOKUP needs all of its options. Missing: {missing}.")
    if set_:
        if values["max-attempts"] < 1:
            raise ValueError("option 'max-attempts' of LOOKUP must be at least 1.")
        retry = RetrySettings(values["max-attempts"], values["fixed-delay"])
    return LookupHint(retry, values["timeout"], values["shuffle"])


def hint_for(hints: Sequence[tuple[str, Any]], names: Sequence[str]) -> Mapping[str, str] | None:
    """Returns the LOOKUP hint of a table, which has one of some names."""
    for name, values in hints:
        if name == "LOOKUP" and isinstance(values, Mapping) and values.get("table") in names:
            return values
    return None
