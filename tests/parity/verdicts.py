"""What Penstock makes of each of PyFlink's names: found by calling them."""

from __future__ import annotations

from functools import cache
from typing import Any

from penstock.datastream.settings import JobSettings
from penstock.errors import UnsupportedOperation
from tests.parity import running
from tests.parity.arguments import arguments
from tests.parity.calling import BROKEN, BUILT, MISSING, REFUSED, Verdict, call
from tests.parity.finding import find
from tests.parity.living import LIVING
from tests.parity.names import LATER, Name, names


@cache
def verdicts() -> dict[Name, Verdict]:
    """A verdict on each name of the areas that are judged; names that PyFlink itself refuses are left out."""
    before = JobSettings._local_parallelism  # of all environments of a process: some name sets it
    try:
        return {name: _verdict(name) for name in names() if name.area not in LATER and not name.refused_there}
    finally:
        JobSettings._local_parallelism = before


def _verdict(name: Name) -> Verdict:
    found = find(name.owner)
    if not name.member:
        return _on_class(name, found) if name.parameters is None else _on_function(name, found)
    in_job = running.verdicts().get(str(name))
    if in_job is not None:
        return in_job
    if name.parameters is None and found is not None:  # a constant or a property stands on its class
        return Verdict(BUILT) if hasattr(found, name.member) else Verdict(MISSING)
    try:
        target = LIVING[name.owner]() if name.owner in LIVING else found
    except UnsupportedOperation as refusal:
        return Verdict(REFUSED, str(refusal))
    except Exception as error:
        if found is None or not hasattr(found, name.member):
            return Verdict(MISSING)
        return Verdict(BROKEN, f"{type(error).__name__}: {error}")
    return Verdict(MISSING) if target is None else call(name, target)


def _on_function(name: Name, found: Any) -> Verdict:
    if found is None:
        return Verdict(MISSING)
    try:
        found(*arguments(name, None))
    except Exception as error:
        return Verdict(BROKEN, f"{type(error).__name__}: {error}")
    return Verdict(BUILT)


def _on_class(name: Name, found: Any) -> Verdict:
    """A class is built when there is one; refused when no object of it can be had."""
    if name.owner in LIVING:
        try:
            LIVING[name.owner]()
        except UnsupportedOperation as refusal:
            return Verdict(REFUSED, str(refusal))
        except Exception as error:
            return Verdict(MISSING) if found is None else Verdict(BROKEN, f"{type(error).__name__}: {error}")
    return Verdict(MISSING) if found is None else Verdict(BUILT)
