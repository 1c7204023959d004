"""When a failed job is started again, by Flink's rules. Times are milliseconds of a clock that only goes forward."""

from __future__ import annotations

import random
from collections import deque
from typing import Protocol

from penstock.config import (
    BACKOFF_ATTEMPTS,
    BACKOFF_INITIAL,
    BACKOFF_JITTER,
    BACKOFF_MOST,
    BACKOFF_MULTIPLIER,
    BACKOFF_RESET,
    CHECKPOINT_INTERVAL,
    FIXED_ATTEMPTS,
    FIXED_DELAY,
    RATE_DELAY,
    RATE_FAILURES,
    RATE_INTERVAL,
    RESTARTS,
    Configuration,
)
from penstock.errors import CheckpointError, ConfigError, PenstockError, PlanError, UnsupportedOperation

# What running again cannot mend.
_FINAL = (CheckpointError, ConfigError, PlanError, UnsupportedOperation)
_FINAL_CODES = {"STATE_CHANGED"}


def can_pass(failure: BaseException) -> bool:
    """Whether running again might go well."""
    code = failure.code if isinstance(failure, PenstockError) else ""
    return not isinstance(failure, _FINAL) and code not in _FINAL_CODES


class Restarts(Protocol):
    """Decides, failure by failure, whether a job is started again."""

    def delay_after_failure(self, now: float) -> float | None:
        """How long to wait before the job is started again; None: it has failed."""
        ...


class NoRestarts:
    def delay_after_failure(self, now: float) -> float | None:
        return None


class FixedDelay:
    """So many restarts, each after the same time."""

    def __init__(self, attempts: int, delay: float) -> None:
        self._left = attempts
        self._delay = delay

    def delay_after_failure(self, now: float) -> float | None:
        self._left -= 1
        return self._delay if self._left >= 0 else None


class FailureRate:
    """Restarts while there are at most so many failures in an interval."""

    def __init__(self, failures: int, interval: float, delay: float) -> None:
        self._times: deque[float] = deque(maxlen=failures + 1)
        self._interval = interval
        self._delay = delay

    def delay_after_failure(self, now: float) -> float | None:
        self._times.append(now)
        too_many = len(self._times) == self._times.maxlen and now - self._times[0] <= self._interval
        return None if too_many else self._delay


class ExponentialDelay:
    """Restarts after times that grow; a job that ran long enough counts as never failed."""

    def __init__(
        self, initial: float, most: float, multiplier: float, reset: float, jitter: float, attempts: int = 2**31 - 1
    ) -> None:
        if initial < 1 or most < initial or multiplier <= 1 or reset < 1 or not 0 <= jitter <= 1:
            raise ConfigError(
                "RESTART_STRATEGY",
                f"The exponential delay starts with {initial:g} ms, grows by {multiplier:g} up to {most:g} ms, has jitter "
                f"{jitter:g} and is reset after {reset:g} ms. It must start with at least 1 ms and not above its most, grow by "
                "more than 1, and have a jitter from 0 to 1. Correct the keys restart-strategy.exponential-delay.*.",
            )
        self._initial, self._most, self._multiplier = initial, most, multiplier
        self._reset, self._jitter, self._attempts = reset, jitter, attempts
        self._failures = 0
        self._next = initial  # without jitter
        self._started: float | None = None

    def delay_after_failure(self, now: float) -> float | None:
        if self._started is not None and now - self._started >= self._reset:
            self._failures, self._next = 0, self._initial
        if self._failures >= self._attempts:
            return None
        varied = self._next * (1 + random.uniform(-self._jitter, self._jitter))
        delay = max(self._initial, min(varied, self._most))
        self._failures += 1
        self._next = min(self._next * self._multiplier, self._most)
        self._started = now + delay
        return delay


def restarts_of(configuration: Configuration) -> Restarts:
    """What a configuration asks for. As in Flink, a job that enabled checkpointing is restarted by default, and others are not."""
    get = configuration.get
    kind = get(RESTARTS) or ("exponential-delay" if get(CHECKPOINT_INTERVAL) else "none")
    if kind == "fixed-delay":
        return FixedDelay(get(FIXED_ATTEMPTS), get(FIXED_DELAY))
    if kind == "failure-rate":
        return FailureRate(get(RATE_FAILURES), get(RATE_INTERVAL), get(RATE_DELAY))
    if kind == "exponential-delay":
        return ExponentialDelay(
            get(BACKOFF_INITIAL),
            get(BACKOFF_MOST),
            get(BACKOFF_MULTIPLIER),
            get(BACKOFF_RESET),
            get(BACKOFF_JITTER),
            get(BACKOFF_ATTEMPTS),
        )
    return NoRestarts()
