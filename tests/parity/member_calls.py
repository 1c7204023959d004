"""Calls members of objects and reports whether they work."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import UnsupportedOperation
from tests.parity.arguments import arguments
from tests.parity.names import Name, members

BUILT, REFUSED, MISSING, BROKEN = "built", "refused", "missing", "broken"


@dataclass(frozen=True)
class Verdict:
    """The status of a name. `reason` is the message of the error, if any."""

    status: str
    reason: str = ""


def call(name: Name, target: Any, values: Sequence[Any] | None = None) -> Verdict:
    """Calls a member of an object, with the given arguments or with sample arguments for its parameters."""
    try:
        member = getattr(target, name.member)
        if name.parameters is not None and callable(member):
            member(*(arguments(name, target) if values is None else values))
    except UnsupportedOperation as refusal:
        return Verdict(REFUSED, str(refusal))
    except AttributeError as error:
        exists = hasattr(type(target), name.member) or name.member in getattr(target, "__dict__", {})
        return Verdict(BROKEN, f"{type(error).__name__}: {error}") if exists else Verdict(MISSING)
    except Exception as error:
        return Verdict(BROKEN, f"{type(error).__name__}: {error}")
    return Verdict(BUILT)


def call_all(owner: str, make: Any) -> dict[str, Verdict]:
    """Calls every member of a class. If `make` is a function, it creates a new object for each call."""
    found: dict[str, Verdict] = {}
    for name in members(owner):
        target = make() if inspect.isfunction(make) else make
        found[str(name)] = call(name, target)
    return found
