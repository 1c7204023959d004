"""The states that a program asks for, found before it runs: its operators are opened once, on a store of their own."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.engine.operators import make_operator
from penstock.engine.place import Place
from penstock.engine.program import OperatorProgram, Program
from penstock.runtime.keys import KeyTable
from penstock.runtime.operator import OperatorContext
from penstock.runtime.state.backend import StateBackend, Tables
from penstock.runtime.store import MemoryBase, Store
from penstock.runtime.timers import TimerQueue
from penstock.state import StateDescriptor, ValueStateDescriptor


@dataclass(slots=True)
class WantedStates:
    """What an operator asks for when it is opened; states that functions ask for later are not known here."""

    states: dict[str, StateDescriptor] = field(default_factory=dict)  # by the name of their table
    error: Exception | None = None  # what open() raised here, where it may lack what executors have


def wanted_states(program: Program) -> dict[str, WantedStates]:
    """The states of each operator, by uid. Functions are opened and closed, so they must be a copy."""
    return {o.uid: _of_operator(program, o) for o in program.operators}


def _of_operator(program: Program, operator: OperatorProgram) -> WantedStates:
    store, tables, keys = Store(MemoryBase()), Tables(), KeyTable(program.max_parallelism)
    backend = StateBackend(store, tables, operator.uid, keys)
    running = make_operator(operator, 0, program.batch)
    event, processing = (TimerQueue(store, bytes([0, number]), keys) for number in (0, 1))
    runtime = Place(program, 0, operator.parallelism).runtime(
        operator.uid, operator.name, backend if running.keyed else None
    )
    found = WantedStates()
    try:
        running.open(OperatorContext(backend, event, processing, runtime))
        running.close()
    except Exception as error:
        found.error = error
    found.states = dict(backend.descriptors())
    if operator.spec.kind == "generator":  # its host keeps it
        found.states["generator"] = ValueStateDescriptor("generator")
    return found
