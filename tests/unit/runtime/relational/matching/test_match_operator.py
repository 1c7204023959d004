from __future__ import annotations

import msgspec
import pytest

from penstock.errors import StateError
from penstock.runtime.relational.expressions.tree import Call, Column
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.match import Definition, MatchSkip, Navigation, PatternStep
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.types.logical.kinds import BOOLEAN, INT, STRING, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot, Row

_TIME = TimestampType(3)
_RISES = Definition("B", Call(">", (Column(1, INT), Column(3, INT)), BOOLEAN), (Navigation("LAST", INT, "A", 1),))
# PATTERN (A B) DEFINE B AS B.price > A.price, with the key, both prices and MATCH_ROWTIME()
_SPEC = MatchSpec(
    input_types=(STRING, INT, _TIME),
    output_types=(STRING, INT, INT, _TIME),
    keys=(0,),
    order=(SortKey(2), SortKey(1)),
    pattern=(PatternStep("A"), PatternStep("B")),
    definitions=(_RISES,),
    measures=(Column(0, STRING), Column(1, INT), Column(2, INT), Column(3, _TIME)),
    navigations=(
        Navigation("LAST", STRING, "", 0),
        Navigation("LAST", INT, "A", 1),
        Navigation("LAST", INT, "B", 1),
        Navigation("ROWTIME", _TIME),
    ),
    skip=MatchSkip("PAST LAST ROW"),
)


def _row(key: str, price: int, time: int) -> Row:
    return (key, price, time * 10**6)


def _match(key: str, first: int, last: int, time: int) -> tuple[str, Row]:
    return ("+I", (key, first, last, time * 10**6))


def test_matches_leave_before_the_watermark_that_their_last_row_waited_for() -> None:
    slot = RelationalSlot(_SPEC)
    assert slot.run([_row("b", 1, 30), _row("a", 5, 10), _row("a", 7, 20), _row("b", 2, 40)], watermark=19) == []
    assert slot.operator.next_event_time(19) == 20
    assert slot.run_marked([], watermark=40) == [(_match("a", 5, 7, 20), 19), (_match("b", 1, 2, 40), 39)]
    assert slot.operator.next_event_time(40) is None
    assert slot.count_entries() <= 1  # the start of the next match


def test_late_rows_are_dropped() -> None:
    slot = RelationalSlot(_SPEC)
    slot.run([_row("a", 5, 10)], watermark=10)
    slot.run([_row("a", 6, 10), _row("a", 7, 11)], watermark=10)
    assert slot.operator.late_records == 1
    assert slot.run([], watermark=11) == [_match("a", 5, 7, 11)]


def test_the_second_sort_key_orders_rows_of_the_same_time() -> None:
    slot = RelationalSlot(_SPEC)
    assert slot.run([_row("a", 9, 10), _row("a", 3, 10)], watermark=10) == [_match("a", 3, 9, 10)]


def test_processing_time_matches_rows_as_they_arrive() -> None:
    spec = msgspec.structs.replace(_SPEC, event_time=False, within=100)
    slot = RelationalSlot(spec)
    assert slot.run([_row("a", 5, 0)], now=1000) == []
    assert slot.operator.wake() == 1100
    slot.restart()
    assert slot.run([_row("a", 6, 0)], now=1099) == [_match("a", 5, 6, 1099)]
    assert slot.operator.wake() is None
    assert slot.run([_row("a", 5, 0)], now=2000) == []
    assert slot.run([], now=2100) == []
    assert slot.count_entries() == 0
    assert slot.run([_row("a", 6, 0)], now=2100) == []


def test_partial_matches_of_another_pattern_are_refused() -> None:
    slot = RelationalSlot(_SPEC)
    slot.run([_row("a", 5, 10)], watermark=10)
    slot.spec = msgspec.structs.replace(_SPEC, pattern=(PatternStep("A"), PatternStep("C"), PatternStep("B")))
    slot.restart()
    with pytest.raises(StateError, match="differs from the one of this query"):
        slot.run([_row("a", 6, 11)], watermark=11)
