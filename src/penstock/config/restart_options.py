"""Options of restart strategies."""

from __future__ import annotations

from penstock.config.kinds import DURATION, NUMBER, choice, whole
from penstock.config.registry import define

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
    "What happens when a job fails. Not set: none; exponential-delay when a checkpoint interval is set.",
    "restart-strategy",
)
FIXED_ATTEMPTS = define("restart-strategy.fixed-delay.attempts", whole(0), 1, "How often a job is restarted.")
FIXED_DELAY = define("restart-strategy.fixed-delay.delay", DURATION, 1000, "Time before each restart.")
RATE_FAILURES = define(
    "restart-strategy.failure-rate.max-failures-per-interval", whole(1), 1, "Failures in an interval that are forgiven."
)
RATE_INTERVAL = define("restart-strategy.failure-rate.failure-rate-interval", DURATION, 60_000, "The interval.")
RATE_DELAY = define("restart-strategy.failure-rate.delay", DURATION, 1000, "Time before each restart.")
BACKOFF_INITIAL = define(
    "restart-strategy.exponential-delay.initial-backoff", DURATION, 1000, "Time before the first restart."
)
BACKOFF_MOST = define("restart-strategy.exponential-delay.max-backoff", DURATION, 60_000, "Most time before a restart.")
BACKOFF_MULTIPLIER = define(
    "restart-strategy.exponential-delay.backoff-multiplier", NUMBER, 1.5, "How the time grows from restart to restart."
)
BACKOFF_RESET = define(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    DURATION,
    3_600_000,
    "After running so long without a failure the job counts as never failed.",
)
BACKOFF_JITTER = define(
    "restart-strategy.exponential-delay.jitter-factor",
    NUMBER,
    0.1,
    "The time varies by this part of itself, at random.",
)
BACKOFF_ATTEMPTS = define(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    whole(1),
    2**31 - 1,
    "How often a job is restarted, unless it ran long enough in between.",
)
