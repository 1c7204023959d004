"""Counts words that a table's generator draws."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor

WORDS = ["flink", "window", "timer", "state", "sql"]

if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    tables = StreamTableEnvironment.create(stream_execution_environment=env)
    draws = (
        TableDescriptor.for_connector("datagen")
        .schema(Schema.new_builder().column("word_id", DataTypes.INT()).build())
        .option("fields.word_id.kind", "random")
        .option("fields.word_id.min", "0")
        .option("fields.word_id.max", str(len(WORDS) - 1))
        .option("rows-per-second", "1000")
        .option("number-of-rows", "100")
        .build()
    )
    tables.create_temporary_table("draws", draws)
    ids = tables.to_data_stream(tables.from_path("draws"))
    pairs = ids.map(lambda row: WORDS[row[0]]).map(
        lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()])
    )
    pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
    env.execute()
