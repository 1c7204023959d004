"""A job from files to files: plain and compressed ones in, rolled, sorted into folders and joined ones out."""

from __future__ import annotations

import sys

import penstock as ps
from penstock.connectors import (
    BucketAssigner,
    Encoder,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    JsonLinesSink,
    RollingPolicy,
    json_lines,
)


def rolled(out: str) -> FileSink:
    """Files of some kilobytes in a folder for each group; at most a second old."""
    policy = RollingPolicy.default_rolling_policy(part_size=60_000, rollover_interval=1_000, inactivity_interval=500)
    return (
        FileSink.for_row_format(f"{out}/rolled", Encoder.json_lines())
        .with_bucket_assigner(BucketAssigner.by(lambda row: f"group={row['n'] % 3}"))
        .with_rolling_policy(policy)
        .build()
    )


def joined(out: str) -> FileSink:
    """What three batches wrote, in one file."""
    return (
        FileSink.for_row_format(f"{out}/joined", Encoder.json_lines())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .enable_compact(
            FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build(),
            FileCompactor.concat_file_compactor(),
        )
        .build()
    )


def main() -> None:
    out, root, folder, batch = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    settings = {"execution.checkpointing.dir": root, "spark.master": "local[2,2]", "state.local.dir": f"{root}/local"}
    if len(sys.argv) > 5:
        settings["execution.resume"] = sys.argv[5]
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings))
    env.set_parallelism(2)
    rows = env.from_source(json_lines(folder, bytes_per_batch=batch))
    counted = rows.key_by(lambda row: row["n"] % 7).map(lambda row: {"n": row["n"], "square": row["n"] ** 2})
    counted.sink_to(rolled(out)).uid("rolled")
    counted.sink_to(joined(out)).uid("joined")
    counted.sink_to(JsonLinesSink(f"{out}/each-batch")).uid("each-batch")
    env.execute("files to files")
    print("DONE", flush=True)


if __name__ == "__main__":
    main()
