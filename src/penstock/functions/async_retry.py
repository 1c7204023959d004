"""Retry strategies of asynchronous calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.errors import PlanError

OUT = TypeVar("OUT", default=Any)
ResultPredicate = Callable[[list[OUT]], bool]
ExceptionPredicate = Callable[[Exception], bool]


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Determines which results and exceptions of a call cause a retry."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate[OUT] | None:
        """Returns a function that is true for results that cause a retry, or None if no result does."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Returns a function that is true for exceptions that cause a retry, or None if no exception does."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Determines how often a call is retried and after which delay. The timeout of a call includes all its attempts.

    >>> strategy = AsyncRetryStrategy.exponential_backoff(4, 100, 500, 2.0, None, lambda error: True)
    >>> [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 3, 4)], strategy.can_retry(5)
    ([100, 200, 400, 500], False)
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Returns whether the call may be retried after the given number of attempts."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Returns the delay in milliseconds after the given number of attempts."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Returns the predicate that determines what causes a retry."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Returns a strategy without retries."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Returns a strategy with up to `max_attempts` retries, each after the same delay."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Returns a strategy with up to `max_attempts` retries, each after `multiplier` times the previous delay.

        Delays are in milliseconds and at most `max_retry_delay`.
        """
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """A retry predicate made of two functions."""

    def __init__(
        self, result_predicate: ResultPredicate[OUT] | None, exception_predicate: ExceptionPredicate | None
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate[OUT] | None:
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """No retries."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Retries with a fixed delay."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        _check_positive(max_attempts=max_attempts, backoff_time_millis=backoff_time_millis)
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Retries with exponentially growing delays."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        _check_positive(
            max_attempts=max_attempts,
            initial_delay=initial_delay,
            max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )
        self._max_attempts = max_attempts
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier
        self._predicate = RetryPredicate(result_predicate, exception_predicate)
        # One delay per attempt, not a "last delay" as in PyFlink, because concurrent calls must not affect each other.
        self._delays = [initial_delay]

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        delays = self._delays
        while len(delays) < current_attempts:
            delays.append(int(min(delays[-1] * self._multiplier, self._max_retry_delay)))
        return delays[max(current_attempts, 1) - 1]

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()


# -- predicates with the names of PyFlink


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Returns whether a result has no elements.

    >>> empty_result_predicate([])
    True
    """
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Returns whether there is an exception."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Returns whether an exception is of a type. Bind the type with `functools.partial`.

    >>> exception_type_predicate(TimeoutError(), OSError)
    True
    """
    return isinstance(error, expected_error_type)


def _check_positive(**arguments: Any) -> None:
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise PlanError(
                "RETRY_STRATEGY", f"A retry strategy got {name}={value!r}. It must be a number greater than zero."
            )
