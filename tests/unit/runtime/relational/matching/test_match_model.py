"""Random patterns, rows, batches and restarts, compared with a plain search for matches."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.specs.aggregate_call import AggregateCall, SortKey
from penstock.runtime.relational.specs.match import Definition, MatchSkip, Navigation, PatternStep
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.types.logical.kinds import BIGINT, BOOLEAN, INT, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot

_TYPES = (INT, TimestampType(3), INT, BOOLEAN, BOOLEAN, BOOLEAN)  # key, time, id, whether the row is an A, a B, a C
_VARIABLES = "ABC"
_KEY, _FIRST, _LAST = Navigation("LAST", INT, "", 0), Navigation("FIRST", INT, "", 2), Navigation("LAST", INT, "", 2)
_COUNT = Navigation("CALL", BIGINT, "", call=AggregateCall("COUNT", (), (), BIGINT))
_OUT = (INT, INT, INT, BIGINT)
_END = 10**9


@dataclass(frozen=True)
class _Row:
    key: int
    time: int
    kinds: tuple[bool, ...]


def _spec(steps: tuple[PatternStep, ...], skip: MatchSkip, within: int | None, iterative: bool) -> MatchSpec:
    definitions = []
    for place, step in enumerate(steps):
        condition: Expression = Column(3 + place, BOOLEAN)
        navigations: tuple[Navigation, ...] = ()
        if iterative:  # the second part is always true, and reads the match
            navigations = (Navigation("FIRST", INT, "", 2),)
            known = Call("IS_NOT_NULL", (Column(len(_TYPES), INT),), BOOLEAN)
            condition = Call("AND", (condition, known), BOOLEAN)
        definitions.append(Definition(step.variable, condition, navigations))
    return MatchSpec(
        input_types=_TYPES,
        output_types=_OUT,
        keys=(0,),
        order=(SortKey(1),),
        pattern=steps,
        definitions=tuple(definitions),
        measures=tuple(Column(i, t) for i, t in enumerate(_OUT)),
        navigations=(_KEY, _FIRST, _LAST, _COUNT),
        skip=skip,
        within=within,
    )


def _model(
    steps: tuple[PatternStep, ...], skip: MatchSkip, within: int | None, rows: list[tuple[int, _Row]]
) -> list[tuple[int, int]]:
    """The first and last position of each match of one key, in order.

    A greedy loop is left only by a row that it could not take. Of the matches with the same first row the shortest counts. A match
    waits while one that starts earlier may still come.
    """
    found, until = [], 0
    for start in range(len(rows)):
        if start < until:
            continue
        end = _shortest(steps, within, rows, start)
        if end == _END:  # a partial match is left at the end of the input, so that later ones wait forever
            break
        if end is not None:
            found.append((start, end))
            until = end + 1 if skip.kind == "PAST LAST ROW" else start + 1
    return found


def _shortest(
    steps: tuple[PatternStep, ...], within: int | None, rows: list[tuple[int, _Row]], start: int
) -> int | None:
    places = {(0, 0)}  # step, and how many rows it has
    for position in range(start, len(rows)):
        row = rows[position][1]
        if within is not None and row.time - rows[start][1].time >= within:
            return None
        following: set[tuple[int, int]] = set()
        for place in places:
            following |= _next(steps, place, row)
        if any(_complete(steps, place) for place in following):
            return position
        places = following
        if not places:
            return None
    return None if within is not None else _END


def _next(steps: tuple[PatternStep, ...], place: tuple[int, int], row: _Row) -> set[tuple[int, int]]:
    """Where a row leads: it stays in a step, or leads to one of the next."""
    step, count = place
    found: set[tuple[int, int]] = set()
    while step < len(steps):
        now = steps[step]
        if row.kinds[step] and (now.maximum is None or count < now.maximum):
            found.add((step, count + 1))
        greedy = not now.reluctant and now.minimum != now.maximum and now.maximum != 1
        if count < now.minimum or (greedy and row.kinds[step]):
            break
        step, count = step + 1, 0
    return found


def _complete(steps: tuple[PatternStep, ...], place: tuple[int, int]) -> bool:
    step, count = place
    return count >= steps[step].minimum and all(s.minimum == 0 for s in steps[step + 1 :])


_QUANTIFIERS = [(1, 1, False), (0, 1, False), (0, None, False), (0, None, True), (1, None, False), (1, None, True),
                (2, 2, False), (1, 2, False), (1, 3, True), (2, None, False), (2, None, True)]  # fmt: skip


@st.composite
def _patterns(draw: st.DrawFn) -> tuple[PatternStep, ...]:
    length = draw(st.integers(1, 3))
    steps = [PatternStep(_VARIABLES[i], *draw(st.sampled_from(_QUANTIFIERS))) for i in range(length - 1)]
    steps.append(
        PatternStep(_VARIABLES[length - 1], *draw(st.sampled_from([(1, 1, False), (2, 2, False), (1, None, True)])))
    )
    for before, step in itertools.pairwise(steps):
        if not before.reluctant and before.minimum != before.maximum and before.maximum != 1 and step.minimum == 0:
            return (PatternStep("A", 1, None), PatternStep("B"))  # refused: an optional step after a greedy one
    return tuple(steps)


_ROWS = st.lists(
    st.builds(_Row, st.integers(0, 1), st.integers(0, 20), st.tuples(st.booleans(), st.booleans(), st.booleans())),
    max_size=14,
)


@settings(deadline=None, max_examples=80)
@given(
    _patterns(),
    st.sampled_from([MatchSkip("NEXT ROW"), MatchSkip("PAST LAST ROW")]),
    st.sampled_from([None, 3, 8]),
    _ROWS,
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.booleans(),
)
def test_matches_are_those_of_a_plain_search(
    steps: tuple[PatternStep, ...],
    skip: MatchSkip,
    within: int | None,
    rows: list[_Row],
    sizes: list[int],
    iterative: bool,
) -> None:
    slot, got, position, turn = RelationalSlot(_spec(steps, skip, within, iterative)), [], 0, 0
    numbered = list(enumerate(rows))
    while position < len(rows):
        size = sizes[turn % len(sizes)]
        part = numbered[position : position + size]
        later = [row.time for row in rows[position + size :]]
        values = [(row.key, row.time * 10**6, number, *row.kinds) for number, row in part]
        got += slot.run(values, watermark=max(slot.watermark, min(later) - 1) if later else None)
        if turn % 2:
            slot.restart()
        position, turn = position + size, turn + 1
    got += slot.run([], watermark=_END)
    wanted = []
    for key in (0, 1):
        mine = sorted(((n, r) for n, r in numbered if r.key == key), key=lambda item: (item[1].time, item[0]))
        for first, last in _model(steps, skip, within, mine):
            wanted.append(("+I", (key, mine[first][0], mine[last][0], last - first + 1)))
    assert sorted(got) == sorted(wanted)
    assert slot.operator.late_records == 0
    if within is not None:
        assert slot.operator.next_event_time(_END) is None
