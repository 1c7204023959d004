"""Finds the states that a program declares before it runs, by opening its operators on an empty store."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass, field

from penstock.engine.program.operator_kinds import GENERATOR_STATE, make_operator
from penstock.engine.program.program import OperatorProgram, Program
from penstock.engine.program.steps import SendStep, all_steps
from penstock.engine.program.subtask_context import SubtaskContext
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTable, StateTables
from penstock.runtime.state.timers import TimerQueue
from penstock.state import StateDescriptor, ValueStateDescriptor
from penstock.types import TypeInformation


@dataclass(slots=True)
class DeclaredStates:
    """The states that an operator declares when it is opened. States that functions declare later are not included."""

    states: dict[str, StateDescriptor] = field(default_factory=dict)  # by table name
    error: Exception | None = None  # raised by open(), which may need something that only executors have
    tables: dict[str, StateTable] = field(default_factory=dict)  # all tables that were opened, by name


def declared_states(program: Program, uids: Collection[str] | None = None) -> dict[str, DeclaredStates]:
    """The states of each operator, or of those with `uids`, by uid. Opens and closes copies of the functions."""
    return {o.uid: _operator_states(program, o) for o in program.operators if uids is None or o.uid in uids}


def key_types(program: Program) -> dict[str, TypeInformation]:
    """The declared key type of each keyed operator, by uid."""
    by_number = {o.number: o for o in program.operators}
    chains = [chain for s in program.sources for chain in (s.chain, s.dead_letter_chain)]
    chains += [chain for o in program.operators for chain in (o.chain, *o.side_chains.values())]
    types: dict[str, TypeInformation] = {}
    for step in (s for chain in chains for s in all_steps(chain)):
        if isinstance(step, SendStep) and step.key_type is not None and by_number[step.operator].spec.keyed:
            types.setdefault(by_number[step.operator].uid, step.key_type)
    return types


def _operator_states(program: Program, operator: OperatorProgram) -> DeclaredStates:
    store, keys = Store(MemoryView()), KeyTable(program.max_parallelism)
    tables = StateTables()
    backend = KeyedStateStore(store, tables, operator.uid, keys)
    event, processing = (TimerQueue(store, bytes([0, number]), keys) for number in (0, 1))
    declared = DeclaredStates()
    try:
        instance = make_operator(copy.deepcopy(operator), 0, program.batch_mode)
        subtask = SubtaskContext(program, 0, operator.parallelism)
        runtime = subtask.function_context(operator.uid, operator.name, backend if operator.spec.keyed else None)
        instance.open(OperatorContext(backend, event, processing, runtime))
        instance.close()
    except Exception as error:  # open() may need something that the driver does not have
        declared.error = error
    declared.states = dict(backend.descriptors())
    declared.tables = {table.name: table for table in tables.all()}
    if operator.traits.generates_watermarks:  # written by its host
        declared.states[GENERATOR_STATE] = ValueStateDescriptor(GENERATOR_STATE)
    return declared
