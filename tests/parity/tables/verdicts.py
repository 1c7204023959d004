"""The status of each name of the Table API, determined by calling it, or for expressions and functions by looking it up."""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from functools import cache
from typing import Any

from penstock.errors import OptionIgnored, UnsupportedOperation
from tests.parity.member_calls import BROKEN, BUILT, MISSING, REFUSED, Verdict
from tests.parity.names import Name
from tests.parity.tables.arguments import arguments
from tests.parity.tables.names import find, names
from tests.parity.tables.samples import OBJECTS

# Their methods are called by the tests of expressions and of Python functions, which have more to say about them.
LOOKED_UP = ("expressions", "functions")


@cache
def verdicts() -> dict[Name, Verdict]:
    """Returns the status of each name."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore", OptionIgnored)
        return {name: _verdict(name) for name in names() if not name.refused_there}


def _verdict(name: Name) -> Verdict:
    found = find(name.owner)
    if found is None or (name.member and not hasattr(found, name.member) and not _is_refused(name.owner)):
        return Verdict(MISSING)
    if name.area in LOOKED_UP or (name.member and name.parameters is None):
        return Verdict(BUILT)
    try:
        target = OBJECTS[name.owner]() if name.owner in OBJECTS else found
        if name.member:
            result = getattr(target, name.member)(*arguments(name, target))
            _finish(target, result)
    except UnsupportedOperation as refusal:
        return Verdict(REFUSED, str(refusal))
    except Exception as error:
        return Verdict(BROKEN, f"{type(error).__name__}: {error}")
    return Verdict(BUILT)


def _finish(*found: Any) -> None:
    """Waits for jobs that a call started."""
    for part in found:
        client = getattr(part, "get_job_client", lambda: None)() if not isinstance(part, type) else None
        if client is not None and hasattr(part, "collect"):
            with part.collect() as rows:
                list(rows)


def _is_refused(owner: str) -> bool:
    """Whether no object of a class can be created."""
    if owner not in OBJECTS:
        return False
    try:
        OBJECTS[owner]()
    except UnsupportedOperation:
        return True
    return False


def wrong_parameters() -> list[str]:
    """Returns the built methods whose parameters have other names than in PyFlink, or another order."""
    found = []
    for name, verdict in verdicts().items():
        if verdict.status != BUILT or name.parameters is None:
            continue
        member = getattr(find(name.owner), name.member) if name.member else find(name.owner)
        if not callable(member):
            continue
        own = [p for p in inspect.signature(member).parameters if p not in ("self", "cls")]
        wanted = [p.strip("*?") for p in name.parameters]
        if own[: len(wanted)] != wanted:
            found.append(f"{name}({', '.join(own)}), in PyFlink ({', '.join(wanted)})")
    return found
