"""The options of the connector 'filesystem'."""

from __future__ import annotations

from penstock.table.connectors.lookup.options import FULL_CACHE_OPTIONS
from penstock.table.connectors.options import COMMON_SINK_OPTIONS, COMMON_SOURCE_OPTIONS, DEAD_LETTER_OPTIONS, Option

_COMMIT = "partitions are complete when the job commits a batch; there is no later commit of a partition."
_LISTING = "statistics are not collected from files."

FILESYSTEM_OPTIONS = (
    Option("path", required=True),
    Option("format", required=True),
    Option("source.monitor-interval", "duration"),
    Option("source.path.regex-pattern"),
    Option("source.report-statistics", refused=_LISTING),
    Option("partition.default-name", default="__DEFAULT_PARTITION__"),
    Option("partition.time-extractor.kind", refused=_COMMIT),
    Option("partition.time-extractor.class", refused=_COMMIT),
    Option("partition.time-extractor.timestamp-pattern", refused=_COMMIT),
    Option("partition.time-extractor.timestamp-formatter", refused=_COMMIT),
    Option("sink.rolling-policy.file-size", "memory", 128 << 20),
    Option("sink.rolling-policy.rollover-interval", "duration", 30 * 60_000),
    Option("sink.rolling-policy.check-interval", "duration", 60_000),
    Option("sink.rolling-policy.inactivity-interval", "duration", 30 * 60_000),
    Option("sink.shuffle-by-partition.enable", "boolean", False),
    Option("auto-compaction", "boolean", False),
    Option("compaction.file-size", "memory"),
    Option("compaction.parallelism", "int"),
    Option("sink.partition-commit.trigger", "enum", "process-time", choices=("process-time", "partition-time")),
    Option("sink.partition-commit.delay", "duration", 0),
    Option("sink.partition-commit.watermark-time-zone", default="UTC"),
    Option("sink.partition-commit.policy.kind", refused=_COMMIT),
    Option("sink.partition-commit.policy.class", refused=_COMMIT),
    Option("sink.partition-commit.policy.class.parameters", refused=_COMMIT),
    Option("sink.partition-commit.success-file.name", default="_SUCCESS"),
    *DEAD_LETTER_OPTIONS,
    *FULL_CACHE_OPTIONS,
    *COMMON_SOURCE_OPTIONS,
    *COMMON_SINK_OPTIONS,
)
