"""Durations, instants and watermark strategies.

A strategy is only a description. `engine/chain/watermarks.py` evaluates the built-in strategies after every record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from penstock.errors import TimeError, warn_ignored

MIN_WATERMARK = -(2**63)
MAX_WATERMARK = 2**63 - 1
NO_TIMESTAMP = MIN_WATERMARK


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration in milliseconds.

    >>> Duration.of_seconds(2).to_millis()
    2000
    """

    millis: int

    @classmethod
    def of_nanos(cls, nanos: int) -> Duration:
        """Creates a duration from nanoseconds, rounded down to milliseconds."""
        return cls(nanos // 1_000_000)

    @classmethod
    def of_millis(cls, millis: int) -> Duration:
        """Creates a duration from milliseconds."""
        return cls(millis)

    @classmethod
    def of_seconds(cls, seconds: int) -> Duration:
        """Creates a duration from seconds."""
        return cls(seconds * 1000)

    @classmethod
    def of_minutes(cls, minutes: int) -> Duration:
        """Creates a duration from minutes."""
        return cls(minutes * 60_000)

    @classmethod
    def of_hours(cls, hours: int) -> Duration:
        """Creates a duration from hours."""
        return cls(hours * 3_600_000)

    @classmethod
    def of_days(cls, days: int) -> Duration:
        """Creates a duration from days of 24 hours."""
        return cls(days * 86_400_000)

    def to_millis(self) -> int:
        """Returns the duration in milliseconds."""
        return self.millis

    def to_milliseconds(self) -> int:
        """Returns the duration in milliseconds. The name is that of Flink's `Time`."""
        return self.millis


@dataclass(frozen=True, slots=True)
class Instant:
    """A point on the time line, as seconds since 1970 and nanoseconds of the second.

    >>> Instant.of_epoch_milli(-1)
    Instant<-1, 999000000>
    >>> Instant.of_epoch_milli(-1).to_epoch_milli()
    -1
    """

    seconds: int
    nanos: int

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Creates an instant from milliseconds since 1970."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * 1_000_000)

    def to_epoch_milli(self) -> int:
        """Returns milliseconds since 1970, rounded down."""
        return self.seconds * 1000 + self.nanos // 1_000_000

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time(Duration):
    """A duration with the legacy names of Flink. New programs use `Duration`.

    >>> Time.seconds(1).to_milliseconds()
    1000
    """

    @classmethod
    def milliseconds(cls, milliseconds: int) -> Time:
        """Creates a duration from milliseconds."""
        return cls(milliseconds)

    @classmethod
    def seconds(cls, seconds: int) -> Time:
        """Creates a duration from seconds."""
        return cls(seconds * 1000)

    @classmethod
    def minutes(cls, minutes: int) -> Time:
        """Creates a duration from minutes."""
        return cls(minutes * 60_000)

    @classmethod
    def hours(cls, hours: int) -> Time:
        """Creates a duration from hours."""
        return cls(hours * 3_600_000)

    @classmethod
    def days(cls, days: int) -> Time:
        """Creates a duration from days of 24 hours."""
        return cls(days * 86_400_000)

    def __str__(self) -> str:
        return f"{self.millis} ms"


def to_millis(duration: Duration | timedelta | int) -> int:
    """Converts a duration, a timedelta or a number of milliseconds to milliseconds.

    >>> to_millis(timedelta(seconds=1))
    1000
    """
    if isinstance(duration, Duration):
        return duration.millis
    if isinstance(duration, timedelta):
        return duration // timedelta(milliseconds=1)
    return int(duration)


class TimestampAssigner(ABC):
    """Extracts the event time of elements."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Returns the event time of an element in milliseconds. `record_timestamp` is its current timestamp."""


class WatermarkOutput(ABC):
    """Receives the watermarks of a `WatermarkGenerator`."""

    @abstractmethod
    def emit_watermark(self, watermark: int) -> None:
        """Emits a watermark: no further records with this timestamp or an earlier one are expected.

        A watermark lower than the previous one is ignored.
        """

    @abstractmethod
    def mark_idle(self) -> None:
        """Has no effect. Idleness is determined by `with_idleness`."""

    @abstractmethod
    def mark_active(self) -> None:
        """Has no effect. Idleness is determined by `with_idleness`."""


class WatermarkGenerator(ABC):
    """Generates the watermarks of a split. Implement it for a custom watermark strategy.

    A generator keeps its state between batches, which requires an additional shuffle. If `per_batch` is True, every batch
    starts with a new generator and there is no shuffle.
    """

    per_batch = False

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for each record. May emit a watermark."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called at the end of each chunk of a split. May emit a watermark."""


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """Describes how timestamps are assigned and how watermarks are generated.

    >>> WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).delay
    5000
    """

    kind: str  # "bounded", "none", "ingestion", "custom", or "columns" in tables
    delay: int = 0
    assigner: TimestampAssigner | Callable[[Any, int], int] | None = None
    idle_timeout: int | None = None
    generator: Callable[[], WatermarkGenerator] | None = None
    alignment: tuple[str, int] | None = None
    columns: Any = None  # of tables: a `ColumnWatermarks` (runtime/relational/column_step.py)

    @classmethod
    def for_monotonous_timestamps(cls) -> WatermarkStrategy:
        """Creates a strategy for ascending timestamps in each split. The watermark is the last timestamp minus 1 ms."""
        return cls("bounded", 0)

    @classmethod
    def for_bounded_out_of_orderness(cls, max_out_of_orderness: Duration | timedelta | int) -> WatermarkStrategy:
        """Creates a strategy for records that are out of order by at most this duration, in each split."""
        delay = to_millis(max_out_of_orderness)
        if delay < 0:
            raise TimeError("NEGATIVE_DELAY", f"max_out_of_orderness is {delay} ms, but must not be negative.")
        return cls("bounded", delay)

    @classmethod
    def for_ingestion_time(cls) -> WatermarkStrategy:
        """Creates a strategy whose timestamps are the start time of the batch.

        The watermark of all splits follows the clock, so windows close even if no record arrives.
        """
        return cls("ingestion")

    @classmethod
    def for_generator(cls, generator: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Creates a strategy with custom watermarks. `generator` is called for each split and returns a WatermarkGenerator.

        It may be a function or the class itself.
        """
        argument: Any = generator
        if isinstance(argument, WatermarkGenerator) or not callable(argument):
            raise TimeError(
                "WATERMARK_GENERATOR",
                f"for_generator() got a {type(generator).__name__}, but each split needs its own generator. Pass a "
                "WatermarkGenerator class, or a function that returns a new generator.",
            )
        return cls("custom", generator=generator)

    @classmethod
    def no_watermarks(cls) -> WatermarkStrategy:
        """Creates a strategy without watermarks. Event-time timers fire only at the end of bounded input."""
        return cls("none")

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """Returns the strategy with a timestamp assigner.

        `timestamp_assigner` is a TimestampAssigner, or a function of an element and its current timestamp. It returns
        milliseconds.
        """
        if not isinstance(timestamp_assigner, TimestampAssigner) and (
            isinstance(timestamp_assigner, type) or not callable(timestamp_assigner)
        ):
            raise TimeError(
                "TIMESTAMP_ASSIGNER",
                f"with_timestamp_assigner() got {timestamp_assigner!r}. Pass a TimestampAssigner object (not the class), or a "
                "function of an element and its current timestamp.",
            )
        if self.kind == "ingestion":
            raise TimeError(
                "TIMESTAMP_ASSIGNER",
                "with_timestamp_assigner() was called on for_ingestion_time(), whose timestamps are the start time of the batch. "
                "Use for_monotonous_timestamps() or for_bounded_out_of_orderness() with an assigner.",
            )
        return replace(self, assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: Duration | timedelta | int) -> WatermarkStrategy:
        """Returns the strategy with an idle timeout. A split without records for this long does not hold back the watermark.

        With `no_watermarks()` it applies where the stream is combined with others: while it is idle, their watermarks count.
        """
        timeout = to_millis(idle_timeout)
        if timeout <= 0:
            raise TimeError("IDLE_TIMEOUT", f"The idle timeout is {timeout} ms, but must be greater than zero.")
        return replace(self, idle_timeout=timeout)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration | timedelta | int,
        update_interval: Duration | timedelta | int | None = None,
    ) -> WatermarkStrategy:
        """Returns the strategy with watermark alignment.

        Splits whose watermark is ahead of the slowest split of the group by more than the drift are paused. The drift is checked
        before every batch, so a split may be ahead by the records of one more batch, and `update_interval` has no effect.
        """
        if update_interval is not None:
            warn_ignored(
                "with_watermark_alignment: update_interval has no effect. The drift is checked before every batch."
            )
        return replace(self, alignment=(watermark_group, to_millis(max_allowed_watermark_drift)))

    def timestamp_function(self) -> Callable[[Any, int], int] | None:
        """Returns the timestamp assigner as a function, or None if records keep the timestamps of their source."""
        if isinstance(self.assigner, TimestampAssigner):
            return self.assigner.extract_timestamp
        return self.assigner
