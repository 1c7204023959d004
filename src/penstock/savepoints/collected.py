"""What all slots' parts of a savepoint say together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.engine.slot_meta import SlotMeta
from penstock.savepoints.manifest import SavedLevel, SavedOperator, SavedState
from penstock.savepoints.part import Part


def with_states(described: Sequence[SavedOperator], parts: Sequence[Part]) -> list[SavedOperator]:
    """The operators of a job with their states, in all slots together."""
    operators = {o.uid: o for o in described}
    states: dict[tuple[str, str], SavedState] = {}
    for part in parts:
        for told in part.states:
            state = told.state
            found = states.get((told.operator, state.name))
            if found is None:
                states[told.operator, state.name] = state
                operators[told.operator].states.append(state)
            else:
                found.entries += state.entries
                found.size += state.size
    return list(operators.values())


def levels_of(parts: Sequence[Part]) -> list[SavedLevel]:
    """The clocks of each level, which are equal in all of its slots."""
    levels: dict[int, SavedLevel] = {}
    for part in sorted(parts, key=lambda p: (p.level, p.slot)):
        meta = msgspec.json.decode(part.meta, type=SlotMeta)
        broadcast, meta.tables, meta.broadcast = meta.broadcast, [], {}
        level = levels.setdefault(part.level, SavedLevel(part.level, msgspec.Raw(msgspec.json.encode(meta))))
        level.broadcast.update(broadcast)
    return list(levels.values())
