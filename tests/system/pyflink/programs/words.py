"""Counts words in BATCH mode, of files or of a speech, to the screen or to files."""

import argparse

from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)

SPEECH = ["To be, or not to be,--that is the question:--", "Whether 'tis nobler in the mind to suffer"]


def split(line):
    yield from line.split()


def read(env, path):
    if path is None:
        return env.from_collection(SPEECH)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).process_static_file_set()
    return env.from_source(source.build(), WatermarkStrategy.for_monotonous_timestamps(), "file_source")


def files(path):
    sink = FileSink.for_row_format(path, Encoder.simple_string_encoder())
    names = OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
    return sink.with_output_file_config(names).with_rolling_policy(RollingPolicy.default_rolling_policy()).build()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    words = read(env, args.input).flat_map(split)
    pairs = words.map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
    counts = pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    if args.output is None:
        counts.print()
    else:
        counts.sink_to(files(args.output))
    env.execute()
