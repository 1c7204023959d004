"""Words of time: durations, the ends of event time, and how a stream's watermarks are made.

A strategy is a description. `runtime/watermarks.py` evaluates the built-in ones after every record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

MIN_WATERMARK = -(2**63)
MAX_WATERMARK = 2**63 - 1
NO_TIMESTAMP = MIN_WATERMARK


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in whole milliseconds.

    >>> Duration.of_seconds(2).to_millis()
    2000
    """

    millis: int

    @classmethod
    def of_millis(cls, n: int) -> Duration:
        return cls(n)

    @classmethod
    def of_seconds(cls, n: int) -> Duration:
        return cls(n * 1000)

    @classmethod
    def of_minutes(cls, n: int) -> Duration:
        return cls(n * 60_000)

    @classmethod
    def of_hours(cls, n: int) -> Duration:
        return cls(n * 3_600_000)

    @classmethod
    def of_days(cls, n: int) -> Duration:
        return cls(n * 86_400_000)

    def to_millis(self) -> int:
        return self.millis

    def to_milliseconds(self) -> int:
        return self.millis


@dataclass(frozen=True, slots=True)
class Instant:
    """A point on the time line: seconds since 1970 and nanoseconds of that second.

    >>> Instant.of_epoch_milli(-1)
    Instant<-1, 999000000>
    >>> Instant.of_epoch_milli(-1).to_epoch_milli()
    -1
    """

    seconds: int
    nanos: int

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * 1_000_000)

    def to_epoch_milli(self) -> int:
        return self.seconds * 1000 + self.nanos // 1_000_000

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time(Duration):
    """Flink's older name of a length of time.

    >>> Time.seconds(1).to_milliseconds()
    1000
    """

    @classmethod
    def milliseconds(cls, n: int) -> Time:
        return cls(n)

    @classmethod
    def seconds(cls, n: int) -> Time:
        return cls(n * 1000)

    @classmethod
    def minutes(cls, n: int) -> Time:
        return cls(n * 60_000)

    @classmethod
    def hours(cls, n: int) -> Time:
        return cls(n * 3_600_000)

    @classmethod
    def days(cls, n: int) -> Time:
        return cls(n * 86_400_000)


def millis_of(length: Duration | timedelta | int) -> int:
    """The milliseconds of a duration, a timedelta or a plain number of milliseconds.

    >>> millis_of(timedelta(seconds=1))
    1000
    """
    if isinstance(length, Duration):
        return length.millis
    if isinstance(length, timedelta):
        return length // timedelta(milliseconds=1)
    return int(length)


class TimestampAssigner(ABC):
    """Gives an element its event time, in milliseconds."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int: ...


class WatermarkOutput(ABC):
    """Where a generator emits its watermarks."""

    @abstractmethod
    def emit_watermark(self, watermark: int) -> None: ...

    @abstractmethod
    def mark_idle(self) -> None: ...

    @abstractmethod
    def mark_active(self) -> None: ...


class WatermarkGenerator(ABC):
    """A watermark strategy of the user's own.

    `on_event` runs for every record, `on_periodic_emit` at the end of every chunk of a split. A generator keeps its
    state between batches (at the price of one more shuffle) unless `per_batch` is True.
    """

    per_batch = False

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None: ...

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """How a stream's watermarks and timestamps are made.

    >>> WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).delay
    5000
    """

    kind: str  # "bounded", "none", "ingestion" or "custom"
    delay: int = 0
    assigner: TimestampAssigner | Callable[[Any, int], int] | None = None
    idle_timeout: int | None = None
    generator: Callable[[], WatermarkGenerator] | None = None
    alignment: tuple[str, int] | None = None

    @classmethod
    def for_monotonous_timestamps(cls) -> WatermarkStrategy:
        return cls("bounded", 0)

    @classmethod
    def for_bounded_out_of_orderness(cls, max_out_of_orderness: Duration | timedelta | int) -> WatermarkStrategy:
        return cls("bounded", millis_of(max_out_of_orderness))

    @classmethod
    def for_ingestion_time(cls) -> WatermarkStrategy:
        return cls("ingestion")

    @classmethod
    def for_generator(cls, generator: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        return cls("custom", generator=generator)

    @classmethod
    def no_watermarks(cls) -> WatermarkStrategy:
        return cls("none")

    def with_timestamp_assigner(self, assigner: TimestampAssigner | Callable[[Any, int], int]) -> WatermarkStrategy:
        return replace(self, assigner=assigner)

    def with_idleness(self, idle_timeout: Duration | timedelta | int) -> WatermarkStrategy:
        return replace(self, idle_timeout=millis_of(idle_timeout))

    def with_watermark_alignment(self, group: str, max_drift: Duration | timedelta | int) -> WatermarkStrategy:
        return replace(self, alignment=(group, millis_of(max_drift)))

    def timestamp_of(self) -> Callable[[Any, int], int] | None:
        """The assigner as a plain function, or None when records keep the timestamps of their source."""
        if isinstance(self.assigner, TimestampAssigner):
            return self.assigner.extract_timestamp
        return self.assigner
