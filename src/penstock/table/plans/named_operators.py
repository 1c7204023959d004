"""Relations with the ids of their operators, so that a stored plan keeps them whatever later versions compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.table.lower.operator_meaning import STORED_UID
from penstock.table.plans.stored_plan import PLANNED
from penstock.table.relations import Relation, Sink


def with_ids(sinks: Sequence[Sink], ids: Mapping[int, Sequence[str]]) -> list[Sink]:
    """Returns sinks with the ids of their operators as hints. `ids`: by id() of the relation."""
    done: dict[int, Relation] = {}

    def named(relation: Relation) -> Relation:
        found = done.get(id(relation))
        if found is None:
            found = relation.with_inputs(*(named(one) for one in relation.inputs()))
            if id(relation) in ids:
                kept = tuple(hint for hint in relation.hints if hint[0] != STORED_UID)
                found = msgspec.structs.replace(found, hints=((STORED_UID, tuple(ids[id(relation)])), *kept))
            done[id(relation)] = found
        return found

    result = []
    for sink in sinks:
        found = named(sink)
        assert isinstance(found, Sink)
        result.append(msgspec.structs.replace(found, hints=((PLANNED, ()), *found.hints)))
    return result
