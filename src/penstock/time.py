"""Words of time: durations, the ends of event time, and how a stream's watermarks are made.

A strategy is a description. `engine/marks.py` evaluates the built-in ones after every record.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from penstock.errors import TimeError

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
    def of_nanos(cls, nanos: int) -> Duration:
        """Parts of a millisecond are left out: timers and watermarks have none."""
        return cls(nanos // 1_000_000)

    @classmethod
    def of_millis(cls, millis: int) -> Duration:
        """So many milliseconds."""
        return cls(millis)

    @classmethod
    def of_seconds(cls, seconds: int) -> Duration:
        """So many seconds."""
        return cls(seconds * 1000)

    @classmethod
    def of_minutes(cls, minutes: int) -> Duration:
        """So many minutes."""
        return cls(minutes * 60_000)

    @classmethod
    def of_hours(cls, hours: int) -> Duration:
        """So many hours."""
        return cls(hours * 3_600_000)

    @classmethod
    def of_days(cls, days: int) -> Duration:
        """So many days of 24 hours."""
        return cls(days * 86_400_000)

    def to_millis(self) -> int:
        """The length in milliseconds."""
        return self.millis

    def to_milliseconds(self) -> int:
        """The length in milliseconds, by the name that Flink's Time has for it."""
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
        """The point so many milliseconds after the beginning of 1970."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * 1_000_000)

    def to_epoch_milli(self) -> int:
        """Milliseconds since the beginning of 1970, rounded down."""
        return self.seconds * 1000 + self.nanos // 1_000_000

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time(Duration):
    """Flink's older name of a length of time.

    >>> Time.seconds(1).to_milliseconds()
    1000
    """

    @classmethod
    def milliseconds(cls, milliseconds: int) -> Time:
        """So many milliseconds."""
        return cls(milliseconds)

    @classmethod
    def seconds(cls, seconds: int) -> Time:
        """So many seconds."""
        return cls(seconds * 1000)

    @classmethod
    def minutes(cls, minutes: int) -> Time:
        """So many minutes."""
        return cls(minutes * 60_000)

    @classmethod
    def hours(cls, hours: int) -> Time:
        """So many hours."""
        return cls(hours * 3_600_000)

    @classmethod
    def days(cls, days: int) -> Time:
        """So many days of 24 hours."""
        return cls(days * 86_400_000)

    def __str__(self) -> str:
        return f"{self.millis} ms"


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
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The element's event time; `record_timestamp` is the one that it had."""


class WatermarkOutput(ABC):
    """Where a generator emits its watermarks."""

    @abstractmethod
    def emit_watermark(self, watermark: int) -> None:
        """Says that no record with this time or an earlier one is expected any more; a lower one than before is
        ignored.
        """

    @abstractmethod
    def mark_idle(self) -> None:
        """Accepted, and changes nothing: `with_idleness` decides."""

    @abstractmethod
    def mark_active(self) -> None:
        """Accepted, and changes nothing: `with_idleness` decides."""


class WatermarkGenerator(ABC):
    """A watermark strategy of the user's own.

    `on_event` runs for every record, `on_periodic_emit` at the end of every chunk of a split. A generator keeps its
    state between batches (at the price of one more shuffle) unless `per_batch` is True.
    """

    per_batch = False

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called with each record; may emit a watermark."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called at the end of each chunk of a split; may emit a watermark."""


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
        """Timestamps never fall within a split: the watermark is one less than the last one."""
        return cls("bounded", 0)

    @classmethod
    def for_bounded_out_of_orderness(cls, max_out_of_orderness: Duration | timedelta | int) -> WatermarkStrategy:
        """A record may come this much after a later one of its split."""
        delay = millis_of(max_out_of_orderness)
        if delay < 0:
            raise TimeError("NEGATIVE_DELAY", f"A delay of {delay} ms was given for watermarks; it cannot be negative.")
        return cls("bounded", delay)

    @classmethod
    def for_ingestion_time(cls) -> WatermarkStrategy:
        """A record's event time is the time at which its batch began."""
        return cls("ingestion")

    @classmethod
    def for_generator(cls, generator: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Watermarks by a generator of the user's own; the function, or the class itself, makes one for each split."""
        given: Any = generator
        if isinstance(given, WatermarkGenerator) or not callable(given):
            raise TimeError(
                "WATERMARK_GENERATOR",
                f"for_generator() got a {type(generator).__name__}; each split has a generator of its own, so it takes what "
                "makes one: a WatermarkGenerator class, or a function that returns one.",
            )
        return cls("custom", generator=generator)

    @classmethod
    def no_watermarks(cls) -> WatermarkStrategy:
        """No event time: event timers fire at the end of a bounded input only."""
        return cls("none")

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """The same strategy, with event time by a TimestampAssigner or a function of element and earlier timestamp."""
        if not isinstance(timestamp_assigner, TimestampAssigner) and (
            isinstance(timestamp_assigner, type) or not callable(timestamp_assigner)
        ):
            raise TimeError(
                "TIMESTAMP_ASSIGNER",
                f"with_timestamp_assigner() got {timestamp_assigner!r}; it takes a TimestampAssigner (an object, not the "
                "class) or a function of the element and its timestamp so far.",
            )
        return replace(self, assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: Duration | timedelta | int) -> WatermarkStrategy:
        """The same strategy; a split without records for so long does not hold back the others."""
        timeout = millis_of(idle_timeout)
        if timeout <= 0:
            raise TimeError("IDLE_TIMEOUT", f"An idle timeout of {timeout} ms was given; it must be greater than zero.")
        return replace(self, idle_timeout=timeout)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration | timedelta | int,
        update_interval: Duration | timedelta | int | None = None,
    ) -> WatermarkStrategy:
        """The same strategy; splits ahead of the group by more than the drift wait. It is checked with every batch, so
        an update interval changes nothing.
        """
        return replace(self, alignment=(watermark_group, millis_of(max_allowed_watermark_drift)))

    def timestamp_of(self) -> Callable[[Any, int], int] | None:
        """The assigner as a plain function, or None when records keep the timestamps of their source."""
        if isinstance(self.assigner, TimestampAssigner):
            return self.assigner.extract_timestamp
        return self.assigner
