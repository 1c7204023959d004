"""Decides when a failed job is restarted, by Flink's restart strategies. Times are milliseconds of a monotonic clock."""

from __future__ import annotations

import builtins
import random
from collections import deque
from typing import Protocol

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_FAILURES, CHECKPOINT_INTERVAL
from penstock.config.restart_options import (
    BACKOFF_ATTEMPTS,
    BACKOFF_INITIAL,
    BACKOFF_JITTER,
    BACKOFF_MOST,
    BACKOFF_MULTIPLIER,
    BACKOFF_RESET,
    FIXED_ATTEMPTS,
    FIXED_DELAY,
    RATE_DELAY,
    RATE_FAILURES,
    RATE_INTERVAL,
    RESTARTS,
)
from penstock.errors import (
    CheckpointError,
    ConfigError,
    ElementError,
    InvalidKeyError,
    JobError,
    PenstockError,
    PlanError,
    TimeError,
    UnsupportedOperation,
)

# Errors that occur again after a restart.
_NOT_RETRYABLE = (CheckpointError, ConfigError, PlanError, UnsupportedOperation)
_NOT_RETRYABLE_CODES = {"STATE_CHANGED", "STDOUT_CLOSED"}
_PROGRAM_ERROR_CODES = {"BAD_RECORD"}
_MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)
_MOST_REPEATS = 3  # failures in the same place without progress in between


def is_retryable(failure: BaseException) -> bool:
    """Whether a restart may succeed after this failure."""
    code = failure.code if isinstance(failure, PenstockError) else ""
    return not isinstance(failure, _NOT_RETRYABLE) and code not in _NOT_RETRYABLE_CODES


def is_program_error(failure: BaseException) -> bool:
    """Whether a failure comes from the program or its input alone, so that it occurs again when the same batch is repeated.

    An exception of a function counts if its class stands for a mistake in Python, such as KeyError or ValueError. Others may come
    from a service that is unavailable.
    """
    if not isinstance(failure, PenstockError):
        return False
    if failure.code in _PROGRAM_ERROR_CODES or isinstance(failure, ElementError | InvalidKeyError | TimeError):
        return True
    raised = getattr(builtins, failure.failed.error, None) if failure.failed is not None else None
    return isinstance(raised, type) and issubclass(raised, _MISTAKES)


class RestartStrategy(Protocol):
    """Decides after each failure whether the job is restarted."""

    def delay_after_failure(self, now: float) -> float | None:
        """Milliseconds until the job is restarted; None if it fails instead. `now` is the time of the failure."""
        ...


class NoRestart:
    """Fails the job at its first failure."""

    def delay_after_failure(self, now: float) -> float | None:
        return None


class FixedDelay:
    """A limited number of restarts, each after the same delay."""

    def __init__(self, attempts: int, delay: float) -> None:
        self._left = attempts
        self._delay = delay

    def delay_after_failure(self, now: float) -> float | None:
        self._left -= 1
        return self._delay if self._left >= 0 else None


class FailureRate:
    """Restarts as long as the number of failures per interval does not exceed a limit."""

    def __init__(self, failures: int, interval: float, delay: float) -> None:
        self._times: deque[float] = deque(maxlen=failures + 1)
        self._interval = interval
        self._delay = delay

    def delay_after_failure(self, now: float) -> float | None:
        self._times.append(now)
        too_many = len(self._times) == self._times.maxlen and now - self._times[0] <= self._interval
        return None if too_many else self._delay


class ExponentialDelay:
    """Restarts after growing delays. The delay is reset when the job has run long enough without a failure."""

    def __init__(
        self, initial: float, maximum: float, multiplier: float, reset: float, jitter: float, attempts: int = 2**31 - 1
    ) -> None:
        if initial < 1 or maximum < initial or multiplier <= 1 or reset < 1 or not 0 <= jitter <= 1:
            raise ConfigError(
                "RESTART_STRATEGY",
                f"The exponential delay starts with {initial:g} ms, is multiplied by {multiplier:g} up to {maximum:g} ms, has "
                f"jitter {jitter:g} and is reset after {reset:g} ms. The initial delay must be at least 1 ms and at most the "
                "maximum, the multiplier greater than 1, and the jitter between 0 and 1. Correct the keys "
                "restart-strategy.exponential-delay.*.",
            )
        self._initial, self._maximum, self._multiplier = initial, maximum, multiplier
        self._reset, self._jitter, self._attempts = reset, jitter, attempts
        self._failures = 0
        self._next = initial  # without jitter
        self._restart_time: float | None = None

    def delay_after_failure(self, now: float) -> float | None:
        if self._restart_time is not None and now - self._restart_time >= self._reset:
            self._failures, self._next = 0, self._initial
        if self._failures >= self._attempts:
            return None
        with_jitter = self._next * (1 + random.uniform(-self._jitter, self._jitter))
        delay = max(self._initial, min(with_jitter, self._maximum))
        self._failures += 1
        self._next = min(self._next * self._multiplier, self._maximum)
        self._restart_time = now + delay
        return delay


class DefaultRestarts:
    """When the default strategy of unbounded jobs applies: to a job that has worked, and not to an error that stays the same.

    A job that fails before its first batch is committed fails at once, because usually an address or an option is wrong. An error
    of the program ends the job when it occurs for the third time in the same place without a committed batch in between.

    >>> rule, error = DefaultRestarts(), ElementError("ELEMENT_TYPE", "5 is no str.")
    >>> [rule.allows(error, last_batch) for last_batch in (-1, 7, 7, 8, 8, 8)]
    [False, True, True, True, True, False]
    """

    def __init__(self) -> None:
        self._place: tuple[object, ...] = ()
        self._repeats = 0

    def allows(self, failure: BaseException, last_batch: int) -> bool:
        """Whether the job may be restarted after this failure. `last_batch` is its last committed batch; -1 if there is none."""
        call = failure.failed if isinstance(failure, PenstockError) else None
        code = failure.code if isinstance(failure, PenstockError) else ""
        place = (last_batch, code, *(() if call is None else (call.uid, call.error, call.location)))
        self._repeats = self._repeats + 1 if place == self._place else 1
        self._place = place
        return last_batch >= 0 and not (is_program_error(failure) and self._repeats >= _MOST_REPEATS)


def restarts_by_default(configuration: Configuration, unbounded: bool) -> bool:
    """Whether the default strategy of unbounded jobs applies, because no other one is configured."""
    return unbounded and not configuration.get(RESTARTS) and not configuration.get(CHECKPOINT_INTERVAL)


def restart_strategy(configuration: Configuration, unbounded: bool = False) -> RestartStrategy:
    """The configured strategy. By default, unbounded jobs and jobs with a checkpoint interval are restarted, others are not."""
    get = configuration.get
    kind = get(RESTARTS) or ("exponential-delay" if unbounded or get(CHECKPOINT_INTERVAL) else "none")
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
    return NoRestart()


class FailureTolerance:
    """Counts failed checkpoints since the last committed batch.

    >>> tolerance = FailureTolerance(Configuration({"execution.checkpointing.tolerable-failed-checkpoints": 1}))
    >>> [tolerance.tolerates(last_batch) for last_batch in (7, 7, 8, 8)]
    [True, False, True, False]
    """

    def __init__(self, configuration: Configuration) -> None:
        limited = configuration.is_set(CHECKPOINT_FAILURES)
        self._max_failures: int | None = configuration.get(CHECKPOINT_FAILURES) if limited else None  # None: no limit
        self._failures = 0
        self._last_batch: int | None = None

    def tolerates(self, last_batch: int) -> bool:
        """Counts a failed checkpoint after this batch. Returns whether the job may continue without a failure."""
        if last_batch != self._last_batch:
            self._last_batch, self._failures = last_batch, 0
        self._failures += 1
        return self._max_failures is None or self._failures <= self._max_failures

    def error(self, message: str) -> JobError:
        """The failure of the job after too many failed checkpoints. Its restart strategy applies to it."""
        return JobError(
            "CHECKPOINTS_FAILED",
            f"{self._failures} checkpoints in a row failed because of a storage failure, and "
            f"execution.checkpointing.tolerable-failed-checkpoints allows {self._max_failures}: {message}. The batch was not "
            "committed, and no data is lost. Repair the storage and resume the job.",
        )
