"""Walks over relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.table.relations import Relation


def bottom_up(relation: Relation, change: Callable[[Relation], Relation]) -> Relation:
    """Rewrites the inputs of a relation, then the relation itself."""
    inputs = relation.inputs()
    rewritten = tuple(bottom_up(i, change) for i in inputs)
    if any(new is not old for new, old in zip(rewritten, inputs, strict=True)):
        relation = relation.with_inputs(*rewritten)
    return change(relation)


def relations_of(relation: Relation) -> Iterator[Relation]:
    """Yields a relation and all that it reads."""
    yield relation
    for child in relation.inputs():
        yield from relations_of(child)
