"""When and how soon an asynchronous call is tried again."""

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
    """What of a call asks for another attempt: its result, or the exception that it raised."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate[OUT] | None:
        """Holds for results that are not good enough; None: all are."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Holds for exceptions after which another attempt may help; None: for no exception."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """How often a call is tried again, and after which time. A call's timeout covers all its attempts.

    >>> strategy = AsyncRetryStrategy.exponential_backoff(4, 100, 500, 2.0, None, lambda error: True)
    >>> [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 3, 4)], strategy.can_retry(5)
    ([100, 200, 400, 500], False)
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether there may be another attempt after so many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait after so many attempts."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """What asks for another attempt."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """One attempt."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[OUT] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Up to `max_attempts` further attempts, always after the same time."""
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
        """Up to `max_attempts` further attempts, each after `multiplier` times the time before it."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """Two functions as a predicate."""

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
    """One attempt."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Further attempts, always after the same time."""

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
    """Further attempts, each after a longer time."""

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
        # By attempt, and not as PyFlink's "last delay": calls that are under way at once must not prolong each other's.
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


# -- predicates, by PyFlink's names


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Holds for a result without elements.

    >>> empty_result_predicate([])
    True
    """
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Holds for any exception."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Holds for exceptions of a type; give it the type with `functools.partial`.

    >>> exception_type_predicate(TimeoutError(), OSError)
    True
    """
    return isinstance(error, expected_error_type)


def _check_positive(**given: Any) -> None:
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise PlanError(
                "RETRY_STRATEGY", f"A retry strategy got {name}={value!r}; it takes a number greater than zero."
            )
