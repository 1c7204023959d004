"""Options of rescaling."""

from __future__ import annotations

from penstock.config.registry import define
from penstock.config.value_kinds import DURATION, choice, integer

RESCALED = define(
    "execution.rescale.parallelism",
    integer(1),
    None,
    "Parallelism of the job, which overrides the program. Operators with a higher parallelism are limited to it. Set by "
    "`penstock rescale`.",
)
RESCALE_POLICY = define(
    "execution.rescale.policy",
    choice("off", "dry-run", "on"),
    "off",
    "Whether the job adapts its parallelism automatically. on rescales it with a savepoint, as `penstock rescale` does. dry-run "
    "only logs the decisions.",
)
RESCALE_BATCH_TIME = define(
    "execution.rescale.target-batch-time",
    DURATION,
    0,
    "Target duration of batches. The parallelism is increased if batches take longer, and reduced if they take much less. 0: no "
    "target.",
)
RESCALE_LAG = define(
    "execution.rescale.target-lag",
    DURATION,
    0,
    "Maximum backlog of the sources, as the time needed to process it. The parallelism is increased if the backlog is larger. 0: "
    "no target.",
)
RESCALE_LEAST = define(
    "execution.rescale.min-parallelism", integer(1), 1, "Minimum parallelism for automatic rescaling."
)
RESCALE_MOST = define(
    "execution.rescale.max-parallelism",
    integer(1),
    None,
    "Maximum parallelism for automatic rescaling. Not set: the number of cores of the driver's machine.",
)
RESCALE_COOL_DOWN = define(
    "execution.rescale.cool-down",
    DURATION,
    300_000,
    "Minimum time between the start of the job, or its last rescaling, and the next automatic rescaling.",
)
RESCALE_BATCHES = define(
    "execution.rescale.batches",
    integer(1),
    10,
    "Number of recent batches that a decision is based on, so that a single slow batch has no effect.",
)
