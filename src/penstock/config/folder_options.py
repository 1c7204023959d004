"""Options of the folders on this machine: how long and how much of each kind is kept."""

from __future__ import annotations

from penstock.config.registry import define
from penstock.config.value_kinds import BOOLEAN, MEMORY, integer

CLEAN = define(
    "folders.clean",
    BOOLEAN,
    True,
    "Whether a job that starts removes leftovers of earlier jobs in the background, at most once per hour. `penstock doctor "
    "--clean` lists and removes them at any time.",
)
CHECKPOINTS_KEEP_DAYS = define(
    "folders.checkpoints.keep-days",
    integer(0),
    30,
    "Checkpoints in the default folder are removed this many days after their job has read all its input. Those of jobs that "
    "failed, or were stopped, cancelled or killed, and those in other folders, are never removed automatically.",
)
CHECKPOINTS_MAX_SIZE = define(
    "folders.checkpoints.max-size",
    MEMORY,
    20 << 30,
    "Maximum size of the default checkpoint folder. The oldest checkpoints of jobs that have read all their input are removed.",
)
COPIES_MAX_SIZE = define(
    "folders.working-copies.max-size",
    MEMORY,
    50 << 30,
    "Maximum size of the working copies of all jobs. The copies of ended jobs that were unused for the longest time are removed.",
)
LOGS_MAX_SIZE = define(
    "folders.logs.max-size",
    MEMORY,
    1 << 30,
    "Maximum size of the log folder. The oldest logs that belong to no registered job are removed.",
)
CACHE_KEEP_DAYS = define(
    "folders.cache.keep-days",
    integer(0),
    90,
    "Files in the cache folder that were not used for this many days are removed.",
)
CACHE_MAX_SIZE = define(
    "folders.cache.max-size",
    MEMORY,
    10 << 30,
    "Maximum size of the cache folder. The files that were unused for the longest time are removed.",
)
