"""The states that a program asks for, found before it runs: its operators are opened once, on a store of their own."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass, field

from penstock.engine.operators import make_operator
from penstock.engine.place import Place
from penstock.engine.program import OperatorProgram, Program
from penstock.engine.steps import SendStep, all_steps
from penstock.runtime.keys import KeyTable
from penstock.runtime.operator import OperatorContext
from penstock.runtime.state.backend import StateBackend, Tables
from penstock.runtime.store import MemoryBase, Store
from penstock.runtime.timers import TimerQueue
from penstock.state import StateDescriptor, ValueStateDescriptor
from penstock.types import TypeInformation


@dataclass(slots=True)
class WantedStates:
    """What an operator asks for when it is opened; states that functions ask for later are not known here."""

    states: dict[str, StateDescriptor] = field(default_factory=dict)  # by the name of their table
    error: Exception | None = None  # what open() raised here, where it may lack what executors have


def wanted_states(program: Program, uids: Collection[str] | None = None) -> dict[str, WantedStates]:
    """The states of each operator (None: of all), by uid. Copies of the functions are opened and closed, as in a worker."""
    return {o.uid: _of_operator(program, o) for o in program.operators if uids is None or o.uid in uids}


def key_types(program: Program) -> dict[str, TypeInformation]:
    """The declared type of each keyed operator's keys, by uid."""
    by_number = {o.number: o for o in program.operators}
    chains = [chain for s in program.sources for chain in (s.chain, s.dead)]
    chains += [chain for o in program.operators for chain in (o.chain, *o.side.values())]
    found: dict[str, TypeInformation] = {}
    for step in (s for chain in chains for s in all_steps(chain)):
        if isinstance(step, SendStep) and step.key_type is not None and by_number[step.operator].spec.keyed:
            found.setdefault(by_number[step.operator].uid, step.key_type)
    return found


def _of_operator(program: Program, operator: OperatorProgram) -> WantedStates:
    store, keys = Store(MemoryBase()), KeyTable(program.max_parallelism)
    backend = StateBackend(store, Tables(), operator.uid, keys)
    event, processing = (TimerQueue(store, bytes([0, number]), keys) for number in (0, 1))
    found = WantedStates()
    try:
        running = make_operator(copy.deepcopy(operator), 0, program.batch)
        place = Place(program, 0, operator.parallelism)
        runtime = place.runtime(operator.uid, operator.name, backend if running.keyed else None)
        running.open(OperatorContext(backend, event, processing, runtime))
        running.close()
    except Exception as error:  # whatever a user's open() lacks here
        found.error = error
    found.states = dict(backend.descriptors())
    if operator.spec.kind == "generator":  # its host keeps it
        found.states["generator"] = ValueStateDescriptor("generator")
    return found
