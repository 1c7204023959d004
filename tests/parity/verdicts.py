"""The status of each name of PyFlink, determined by calling it."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from penstock.datastream.settings.job_settings import JobSettings
from penstock.errors import OptionIgnored, UnsupportedOperation
from tests.parity import job_members
from tests.parity.arguments import arguments
from tests.parity.lookup import find
from tests.parity.member_calls import BROKEN, BUILT, MISSING, REFUSED, Verdict, call
from tests.parity.names import LATER, Name, names
from tests.parity.sample_objects import SAMPLE_OBJECTS


@cache
def verdicts() -> dict[Name, Verdict]:
    """Returns the status of each name in the checked areas, except names that PyFlink itself always rejects."""
    before = JobSettings._local_parallelism  # shared by all environments of a process; one of the names sets it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptionIgnored)  # a name may be built without having an effect
            return {name: _verdict(name) for name in names() if name.area not in LATER and not name.refused_there}
    finally:
        JobSettings._local_parallelism = before


def _verdict(name: Name) -> Verdict:
    found = find(name.owner)
    if not name.member:
        return _on_class(name, found) if name.parameters is None else _on_function(name, found)
    in_job = job_members.verdicts().get(str(name))
    if in_job is not None:
        return in_job
    if name.parameters is None and found is not None:  # a constant or a property is an attribute of its class
        return Verdict(BUILT) if hasattr(found, name.member) else Verdict(MISSING)
    try:
        target = SAMPLE_OBJECTS[name.owner]() if name.owner in SAMPLE_OBJECTS else found
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
    """Returns the status of a class. It is refused if no object can be created."""
    if name.owner in SAMPLE_OBJECTS:
        try:
            SAMPLE_OBJECTS[name.owner]()
        except UnsupportedOperation as refusal:
            return Verdict(REFUSED, str(refusal))
        except Exception as error:
            return Verdict(MISSING) if found is None else Verdict(BROKEN, f"{type(error).__name__}: {error}")
    return Verdict(MISSING) if found is None else Verdict(BUILT)
