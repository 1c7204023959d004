"""Options of restart strategies."""

from __future__ import annotations

from penstock.config.registry import define
from penstock.config.value_kinds import DOUBLE, DURATION, choice, integer

RESTARTS = define(
    "restart-strategy.type",
    choice(
        "none",
        "fixed-delay",
        "failure-rate",
        "exponential-delay",
        off="none",
        disable="none",
        fixeddelay="fixed-delay",
        failurerate="failure-rate",
        exponentialdelay="exponential-delay",
    ),
    None,
    "The restart strategy for failed jobs. Not set: exponential-delay if a source is unbounded or a checkpoint interval is set, "
    "otherwise none.",
    "restart-strategy",
)
FIXED_ATTEMPTS = define(
    "restart-strategy.fixed-delay.attempts", integer(0), 1, "Maximum number of restarts before the job fails."
)
FIXED_DELAY = define("restart-strategy.fixed-delay.delay", DURATION, 1000, "Delay before each restart.")
RATE_FAILURES = define(
    "restart-strategy.failure-rate.max-failures-per-interval",
    integer(1),
    1,
    "Maximum number of restarts in an interval before the job fails.",
)
RATE_INTERVAL = define(
    "restart-strategy.failure-rate.failure-rate-interval",
    DURATION,
    60_000,
    "The interval in which failures are counted.",
)
RATE_DELAY = define("restart-strategy.failure-rate.delay", DURATION, 1000, "Delay before each restart.")
BACKOFF_INITIAL = define(
    "restart-strategy.exponential-delay.initial-backoff", DURATION, 1000, "Delay before the first restart."
)
BACKOFF_MOST = define(
    "restart-strategy.exponential-delay.max-backoff", DURATION, 60_000, "Maximum delay before a restart."
)
BACKOFF_MULTIPLIER = define(
    "restart-strategy.exponential-delay.backoff-multiplier",
    DOUBLE,
    1.5,
    "Factor by which the delay grows with every restart.",
)
BACKOFF_RESET = define(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    DURATION,
    3_600_000,
    "The delay and the number of restarts are reset after the job ran for this long without a failure.",
)
BACKOFF_JITTER = define(
    "restart-strategy.exponential-delay.jitter-factor",
    DOUBLE,
    0.1,
    "Fraction of the delay that is added or subtracted at random.",
)
BACKOFF_ATTEMPTS = define(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    integer(1),
    2**31 - 1,
    "Maximum number of restarts before the job fails, unless the delay was reset in between.",
)
