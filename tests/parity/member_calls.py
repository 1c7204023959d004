"""Calls a name on a living object, and judges what it does."""

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
    """What Penstock makes of a name; `reason` is the refusal's own text, or what went wrong."""

    status: str
    reason: str = ""


def call(name: Name, target: Any, given: Sequence[Any] | None = None) -> Verdict:
    """Whether a member of an object does its work, with what is given or with what its parameters are called."""
    try:
        member = getattr(target, name.member)
        if name.parameters is not None and callable(member):
            member(*(arguments(name, target) if given is None else given))
    except UnsupportedOperation as refusal:
        return Verdict(REFUSED, str(refusal))
    except AttributeError as error:
        there = hasattr(type(target), name.member) or name.member in getattr(target, "__dict__", {})
        return Verdict(BROKEN, f"{type(error).__name__}: {error}") if there else Verdict(MISSING)
    except Exception as error:
        return Verdict(BROKEN, f"{type(error).__name__}: {error}")
    return Verdict(BUILT)


def call_all(owner: str, make: Any) -> dict[str, Verdict]:
    """Every member of a class, each on a fresh object if `make` makes one."""
    found: dict[str, Verdict] = {}
    for name in members(owner):
        target = make() if inspect.isfunction(make) else make
        found[str(name)] = call(name, target)
    return found
