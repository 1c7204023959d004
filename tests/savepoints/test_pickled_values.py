"""Pickled state of earlier versions that contains classes of Penstock can be read.

State without a declared type is pickled, so the module paths and the stored attributes of these classes must not change.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.connectors.kafka import KafkaRecord
from penstock.functions import DeadLetter
from penstock.row import Row, RowKind
from penstock.time import Duration, Instant, Time
from penstock.windows import TimeWindow

VALUES: dict[str, Any] = {
    "row": Row("a", 1),
    "named row": Row(name="a", count=1),
    "instant": Instant(5, 7),
    "time": Time.seconds(3),
    "duration": Duration.of_seconds(3),
    "time window": TimeWindow(0, 10),
    "kafka record": KafkaRecord("orders", 1, 5, 1000, b"k", b"v"),
    "dead letter": DeadLetter(
        operator="parse", uid="parse", element="x", error="ValueError", message="bad", timestamp=5
    ),
}
VALUES["named row"].set_row_kind(RowKind.UPDATE_AFTER)


_COMPARED = [name for name in Pattern.__slots__ if name != "previous"]


@pytest.fixture(scope="module")
def pickled() -> dict[str, Any]:
    data = (Path(__file__).parent / "golden" / "values_of_v1.pickle").read_bytes()
    values: dict[str, Any] = pickle.loads(data)
    return values


@pytest.mark.parametrize("name", list(VALUES))
def test_a_pickled_value_is_read(pickled: dict[str, Any], name: str) -> None:
    assert pickled[name] == VALUES[name]


def test_a_pickled_pattern_is_read(pickled: dict[str, Any]) -> None:
    """Dynamic patterns are stored in broadcast state."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    condition: Any = len
    pattern = Pattern.begin("a", skip).where(condition).next("b").times(2).within(Time.seconds(3))
    read = pickled["pattern"]
    assert [getattr(read, n) for n in _COMPARED] == [getattr(pattern, n) for n in _COMPARED]
    assert pattern.previous is not None
    assert repr(read.previous.condition) == repr(pattern.previous.condition)
