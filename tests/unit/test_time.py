"""Durations and watermark strategies, as in PyFlink."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock import Duration, Time, TimestampAssigner, WatermarkGenerator, WatermarkStrategy
from penstock.errors import TimeError
from penstock.time import WatermarkOutput, to_millis


@pytest.mark.parametrize(
    ("duration", "millis"),
    [
        (Duration.of_days(1), 86_400_000),
        (Duration.of_hours(1), 3_600_000),
        (Duration.of_minutes(minutes=1), 60_000),
        (Duration.of_seconds(seconds=2), 2_000),
        (Duration.of_millis(3), 3),
        (Duration.of_nanos(2_999_999), 2),
        (Time.days(1), 86_400_000),
        (Time.hours(1), 3_600_000),
        (Time.minutes(1), 60_000),
        (Time.seconds(1), 1_000),
        (Time.milliseconds(milliseconds=1), 1),
        (timedelta(milliseconds=7), 7),
        (9, 9),
    ],
)
def test_lengths_of_time_are_milliseconds(duration: Any, millis: int) -> None:
    assert to_millis(duration) == millis


def test_times_compare_and_show_themselves_as_in_pyflink() -> None:
    assert Time.seconds(1) == Time.milliseconds(1000) != Time.seconds(2)
    assert Duration.of_seconds(1) == Duration.of_millis(1000)
    assert Duration.of_seconds(1) != Time.seconds(1)
    assert (str(Time.seconds(5)), Time.seconds(5).to_milliseconds()) == ("5000 ms", 5000)


class Assigner(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Generator(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Nothing."""


def test_a_strategy_is_put_together_step_by_step() -> None:
    base = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    made = (
        base.with_timestamp_assigner(Assigner())
        .with_idleness(Duration.of_minutes(1))
        .with_watermark_alignment("group", Duration.of_seconds(20))
    )
    assert (made.delay, made.idle_timeout, made.alignment) == (1000, 60_000, ("group", 20_000))
    extract = made.timestamp_function()
    assert extract is not None
    assert extract("7", 0) == 7
    assert base.assigner is None  # a strategy that others use does not change under them
    assert WatermarkStrategy.for_generator(Generator).generator is Generator


REFUSED: dict[str, Callable[[], object]] = {
    "NEGATIVE_DELAY": lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(-1)),
    "IDLE_TIMEOUT": lambda: WatermarkStrategy.no_watermarks().with_idleness(Duration.of_seconds(0)),
    "WATERMARK_GENERATOR": lambda: WatermarkStrategy.for_generator(Generator()),  # type: ignore[arg-type]
    "TIMESTAMP_ASSIGNER": lambda: WatermarkStrategy.no_watermarks().with_timestamp_assigner(Assigner),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("code", REFUSED)
def test_invalid_strategies_raise_an_error(code: str) -> None:
    with pytest.raises(TimeError) as caught:
        REFUSED[code]()
    assert caught.value.code == code
