"""What type checkers know of the state processor; see fluent_api.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_type

import pyarrow as pa

import penstock as ps
from penstock.savepoints import Savepoint
from penstock.state_processor import (
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
)
from penstock.state_processor.bootstrap import KeyedBootstrapContext
from penstock.state_processor.keyed_reading import KeyedReaderContext


class Counts(KeyedStateReaderFunction[str, tuple[str, int]]):
    def read_key(self, key: str, ctx: KeyedReaderContext) -> Iterator[tuple[str, int]]:
        assert_type(ctx.registered_event_time_timers(), set[int])
        yield key, 1


class Fill(KeyedStateBootstrapFunction[str, dict[str, int]]):
    def process_element(self, value: dict[str, int], ctx: KeyedBootstrapContext) -> None:
        assert_type(ctx.timer_service(), ps.TimerService)


def read(reader: SavepointReader) -> None:
    assert_type(reader.read_keyed_state("counts", Counts()), Iterator[tuple[str, int]])
    for batch in reader.batches("counts", "count"):
        assert_type(batch, pa.RecordBatch)


def write(writer: SavepointWriter) -> None:
    made = OperatorTransformation.bootstrap_with([{"a": 1}]).key_by("a").transform(Fill())
    changed = writer.with_operator("counts", made).remove_keys("counts", ["a"])
    assert_type(changed, SavepointWriter)
    assert_type(changed.write("path"), Savepoint)
