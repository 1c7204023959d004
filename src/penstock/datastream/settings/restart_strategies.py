"""Restart strategies. They are stored in the configuration, and `jobs/run/restarts.py` applies them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config import Configuration, Option
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

Delay = int | timedelta


class RestartStrategyConfiguration:
    """A restart strategy. Strategies with the same settings are equal."""

    type: str | None = None

    def __init__(self, description: str, **settings: tuple[Option, Any]) -> None:
        self._description = description
        self._values = {name: option.read(value) for name, (option, value) in settings.items()}
        self._options = {name: option for name, (option, _) in settings.items()}

    def get_description(self) -> str:
        """Returns a description of the strategy."""
        return self._description

    def write_to(self, configuration: Configuration) -> None:
        """Writes the strategy to the configuration of a job."""
        if self.type is None:
            configuration.unset(RESTARTS)
            return
        configuration.set(RESTARTS.key, self.type)
        for name, option in self._options.items():
            configuration.set(option.key, self._values[name])

    def _millis(self, name: str) -> timedelta:
        return timedelta(milliseconds=self._values[name])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values == getattr(other, "_values", None)

    def __hash__(self) -> int:
        return hash((type(self), tuple(self._values.items())))


class RestartStrategies:
    """Creates restart strategies.

    >>> RestartStrategies.fixed_delay_restart(3, 10_000).get_description()
    'Restart after 10000 ms, at most 3 times.'
    """

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Does not restart failed jobs."""

        type = "none"

        def __init__(self) -> None:
            super().__init__("No restart.")

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Uses the default strategy."""

        def __init__(self) -> None:
            super().__init__("The default: exponential delay if checkpointing is enabled, otherwise no restart.")

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts a limited number of times, with a fixed delay."""

        type = "fixed-delay"

        def __init__(self, restart_attempts: int, delay_between_attempts_interval: Delay) -> None:
            super().__init__(
                f"Restart after {FIXED_DELAY.read(delay_between_attempts_interval)} ms, at most {restart_attempts} times.",
                attempts=(FIXED_ATTEMPTS, restart_attempts),
                delay=(FIXED_DELAY, delay_between_attempts_interval),
            )

        def get_restart_attempts(self) -> int:
            return int(self._values["attempts"])

        def get_delay_between_attempts_interval(self) -> timedelta:
            return self._millis("delay")

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts until the number of failures in an interval exceeds a limit."""

        type = "failure-rate"

        def __init__(
            self, max_failure_rate: int, failure_interval: Delay, delay_between_attempts_interval: Delay
        ) -> None:
            super().__init__(
                f"Restart while there are at most {max_failure_rate} failures in {RATE_INTERVAL.read(failure_interval)} ms.",
                failures=(RATE_FAILURES, max_failure_rate),
                interval=(RATE_INTERVAL, failure_interval),
                delay=(RATE_DELAY, delay_between_attempts_interval),
            )

        def get_max_failure_rate(self) -> int:
            return int(self._values["failures"])

        def get_failure_interval(self) -> timedelta:
            return self._millis("interval")

        def get_delay_between_attempts_interval(self) -> timedelta:
            return self._millis("delay")

    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts with a delay that grows exponentially up to a maximum."""

        type = "exponential-delay"

        def __init__(
            self,
            initial_backoff: Delay,
            max_backoff: Delay,
            backoff_multiplier: float,
            reset_backoff_threshold: Delay,
            jitter_factor: float,
            attempts_before_reset_backoff: int = 2**31 - 1,
        ) -> None:
            super().__init__(
                f"Restart after {BACKOFF_INITIAL.read(initial_backoff)} ms, then {backoff_multiplier} times as long each time.",
                initial=(BACKOFF_INITIAL, initial_backoff),
                maximum=(BACKOFF_MOST, max_backoff),
                multiplier=(BACKOFF_MULTIPLIER, backoff_multiplier),
                reset=(BACKOFF_RESET, reset_backoff_threshold),
                jitter=(BACKOFF_JITTER, jitter_factor),
                attempts=(BACKOFF_ATTEMPTS, attempts_before_reset_backoff),
            )

    @staticmethod
    def no_restart() -> RestartStrategies.NoRestartStrategyConfiguration:
        """Does not restart failed jobs."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategies.FallbackRestartStrategyConfiguration:
        """Uses the default strategy."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: Delay
    ) -> RestartStrategies.FixedDelayRestartStrategyConfiguration:
        """Restarts up to `restart_attempts` times with a fixed delay. Durations are milliseconds or timedeltas."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: Delay, delay_interval: Delay
    ) -> RestartStrategies.FailureRateRestartStrategyConfiguration:
        """Restarts until there are more than `failure_rate` failures in an interval.

        Durations are milliseconds or timedeltas.
        """
        return RestartStrategies.FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: Delay,
        max_backoff: Delay,
        backoff_multiplier: float,
        reset_backoff_threshold: Delay,
        jitter_factor: float,
    ) -> RestartStrategies.ExponentialDelayRestartStrategyConfiguration:
        """Restarts with a delay that grows exponentially. Durations are milliseconds or timedeltas.

        PyFlink has only configuration options for it.
        """
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            initial_backoff, max_backoff, backoff_multiplier, reset_backoff_threshold, jitter_factor
        )


def configured_strategy(configuration: Configuration) -> RestartStrategyConfiguration | None:
    """Returns the restart strategy of a configuration, or None if it is not set."""
    get = configuration.get
    kind = get(RESTARTS)
    if kind is None:
        return None
    if kind == "none":
        return RestartStrategies.no_restart()
    if kind == "fixed-delay":
        return RestartStrategies.fixed_delay_restart(get(FIXED_ATTEMPTS), get(FIXED_DELAY))
    if kind == "failure-rate":
        return RestartStrategies.failure_rate_restart(get(RATE_FAILURES), get(RATE_INTERVAL), get(RATE_DELAY))
    return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
        get(BACKOFF_INITIAL),
        get(BACKOFF_MOST),
        get(BACKOFF_MULTIPLIER),
        get(BACKOFF_RESET),
        get(BACKOFF_JITTER),
        get(BACKOFF_ATTEMPTS),
    )
