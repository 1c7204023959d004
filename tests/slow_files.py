"""Test files that take long. They start first: otherwise one process would still run the last of them while the others wait.

The seconds are those of a run of `make test` on two cores, and estimates for files that were shortened after it. Only their size
matters; `make test-slowest` lists single tests. A file that is not listed takes less than 15 seconds, or is new.
"""

from __future__ import annotations

from pathlib import Path

_SECONDS = {
    "system/bad_input/test_kafka_source.py": 17,
    "system/classes/test_user_classes.py": 85,
    "system/cli/test_printed_lines.py": 60,
    "system/cli/test_run_on_spark.py": 35,
    "system/dataframes/test_from_dataframe.py": 25,
    "system/dataframes/test_kafka.py": 75,
    "system/invariance/test_invariance.py": 200,
    "system/kafka/test_kafka_sink.py": 145,
    "system/kafka/test_on_spark.py": 90,
    "system/kafka/test_source.py": 45,
    "system/leftovers/test_leftover_files.py": 75,
    "system/local/test_commands.py": 40,
    "system/local/test_kafka.py": 16,
    "system/redis/test_redis_on_spark.py": 30,
    "system/signals/test_signals.py": 35,
    "system/spark/test_cluster.py": 100,
    "system/spark/test_from_savepoint.py": 60,
    "system/spark/test_jobs.py": 50,
    "system/spark/test_restarts.py": 47,
    "system/spark/test_savepoints.py": 48,
    "system/sql/test_spark_catalog.py": 25,
    "system/transcripts/test_transcripts_on_spark.py": 50,
    "conformance/test_conformance.py": 70,
    "docs/test_docs_blocks.py": 20,
    "docs/test_examples.py": 35,
    "docs/test_reference.py": 33,
    "typing/test_checkers.py": 15,
    "unit/connectors/file/test_file_source.py": 27,
    "unit/devservers/test_dev.py": 15,
    "unit/devservers/test_fixtures.py": 25,
    "unit/devservers/test_jars.py": 35,
    "unit/runtime/columnar/test_same_results.py": 35,
    "unit/runtime/state/evolution/test_keys.py": 18,
    "unit/runtime/state/evolution/test_random_keys.py": 17,
    "unit/runtime/state/test_properties.py": 30,
    "unit/runtime/state/test_round_trips.py": 65,
    "unit/runtime/state/test_states.py": 24,
    "unit/spark/session/test_class_archive.py": 25,
    "unit/spark/state/test_state_log.py": 25,
    "unit/test_doctests.py": 90,
    "unit/whatif/test_fork.py": 45,
}
_STEPS = (100, 50, 15)  # files of one step are in random order


def start_order(file: Path, tests: Path) -> int:
    """Returns a smaller number for a file that takes longer.

    >>> tests = Path("tests")
    >>> [start_order(tests / name, tests) for name in ("system/invariance/test_invariance.py", "unit/test_new.py")]
    [0, 3]
    """
    seconds = _SECONDS.get(file.relative_to(tests).as_posix(), 0) if file.is_relative_to(tests) else 0
    return sum(seconds < step for step in _STEPS)


def missing_files(tests: Path) -> list[str]:
    """Returns the listed files that do not exist any more."""
    return [name for name in _SECONDS if not (tests / name).exists()]
