"""Options of rescaling: what the command gives a job, and the policy that does it by itself."""

from __future__ import annotations

from penstock.config.kinds import DURATION, choice, whole
from penstock.config.registry import define

RESCALED = define(
    "execution.rescale.parallelism",
    whole(1),
    None,
    "Parallelism of the job, whatever its program sets; operators that want more get this. What `penstock rescale` gives.",
)
RESCALE_POLICY = define(
    "execution.rescale.policy",
    choice("off", "dry-run", "on"),
    "off",
    "Whether a job changes its parallelism by itself: `on`: with a savepoint, as `penstock rescale` does; `dry-run`: its log says "
    "what it would do.",
)
RESCALE_BATCH_TIME = define(
    "execution.rescale.target-batch-time",
    DURATION,
    0,
    "The time that batches should take; a job whose batches take longer grows, one that needs far less shrinks. 0: no target.",
)
RESCALE_LAG = define(
    "execution.rescale.target-lag",
    DURATION,
    0,
    "How far sources may be behind, as the time that it takes to read what waits; a job that is further behind grows. 0: no "
    "target.",
)
RESCALE_LEAST = define("execution.rescale.min-parallelism", whole(1), 1, "The least that the policy gives a job.")
RESCALE_MOST = define(
    "execution.rescale.max-parallelism",
    whole(1),
    None,
    "The most that the policy gives a job; not set: as many as the driver's machine has cores.",
)
RESCALE_COOL_DOWN = define(
    "execution.rescale.cool-down",
    DURATION,
    300_000,
    "How long the policy leaves a job alone after it started, and after it was rescaled.",
)
RESCALE_BATCHES = define(
    "execution.rescale.batches", whole(1), 10, "How many batches the policy looks at; one slow batch changes nothing."
)
