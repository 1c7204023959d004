"""The ctx of process functions that run in a chain, without keys."""

from __future__ import annotations

from penstock.engine.chain.flow import Flow
from penstock.functions import TimerService
from penstock.runtime.loop.operator import ClockOnlyTimerService
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP


class ChainContext:
    """The ctx of a process function in a chain. Its watermark is that of the chunk (time-rules D15)."""

    __slots__ = ("_flow", "_timers", "_timestamps", "_watermarks", "index")

    def __init__(self, flow: Flow) -> None:
        self.index = 0
        self._flow = flow
        self._timestamps: list[int] | None = None
        self._watermarks: list[int] | None = None
        self._timers = ClockOnlyTimerService(self)

    def timestamp(self) -> int | None:
        if self._timestamps is None:
            self._timestamps = self._flow.timestamps().tolist()
        stamp = self._timestamps[self.index]
        return None if stamp == NO_TIMESTAMP else stamp

    def timer_service(self) -> TimerService:
        return self._timers

    @property
    def watermark(self) -> int:
        if self._watermarks is None:
            self._watermarks = self._flow.tags().watermark.tolist()
        return self._watermarks[self.index] if self._watermarks else MIN_WATERMARK

    @property
    def now(self) -> int:
        return self._flow.base.now
