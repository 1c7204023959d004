"""Tests on Spark that run in `make test-long` only, because a faster test covers the same code.

Starting a query takes several seconds, so `make test` runs a selection: at least one test on Spark for each feature, and all cases
in the harness. A pattern matches the end of a test's id (fnmatch).
"""

from __future__ import annotations

from fnmatch import fnmatchcase

# The selected transcripts are from most sections of docs/reference/time-rules.md.
_SELECTED_TRANSCRIPTS = ("3: ", "8: ", "13: ", "23: ", "27: ", "33: ", "39: ")
_PATTERNS = (
    "conformance/test_conformance.py::test_case[[]cep/[!g]*[[]spark]]",
    "conformance/test_conformance.py::test_case[[]evictors/*[[]spark]]",
    "conformance/test_conformance.py::test_case[[]session_merge/*[[]spark]]",
    "conformance/test_conformance.py::test_case[[]state_ttl/*[[]spark]]",
    "conformance/test_conformance.py::test_case[[]timers/[es]*[[]spark]]",
    "conformance/test_conformance.py::test_case[[]triggers/*[[]spark]]",
    "conformance/test_conformance.py::test_case[[]window_operator/*[[]spark]]",
    "docs/test_docs_blocks.py::test_blocks_on_spark[[]docs/explanation/*]",
    "docs/test_docs_blocks.py::test_blocks_on_spark[[]docs/how-to/[rw]*]",
    "docs/test_docs_blocks.py::test_blocks_on_spark[[]docs/tutorials/*]",
    "docs/test_examples.py::test_[cs]*",
    "async_io/test_async_on_spark.py::test_a_job_with_a_waiting_call*",
    "chaos/test_chaos.py::*",
    "classes/test_user_classes.py::test_a_job_is_run_and_resumed*",
    "classes/test_user_classes.py::test_other_ways*[!n]]",
    "classes/test_user_classes.py::test_other_ways*[[][!s]*",
    "cli/test_batch_on_spark.py::*",
    "cli/test_jobs_on_spark.py::*",
    "cli/test_run_on_spark.py::test_a_failed_job*",
    "dataframes/test_foreach_batch.py::test_each_batch_is_a_dataframe_of_the_elements[[]BATCH]",
    "dataframes/test_foreach_batch.py::test_an_error*",
    "dataframes/test_foreach_batch.py::test_to_dataframe",
    "dataframes/test_from_dataframe.py::test_a_batch_dataframe_is_a_bounded_source[[]BATCH]",
    "dataframes/test_from_dataframe.py::test_an_e*",
    "dataframes/test_kafka.py::test_a_python_job_writes*",
    "evolution/test_evolution_on_spark.py::test_state_is_restored_with_its_new_type[[][!rm]*]",
    "evolution/test_evolution_on_spark.py::test_state_is_restored_with_its_new_type[[]re[mop]*]",
    "evolution/test_evolution_on_spark.py::test_state_and_timers_move*a number*",
    "evolution/test_evolution_on_spark.py::test_state_and_timers_move*another order*",
    "faults/test_damage.py::*",
    "faults/test_store.py::*",
    "kafka/test_on_spark.py::test_cancelled*",
    "kafka/test_on_spark.py::test_partition_ahead*",
    "kafka/test_on_spark.py::test_missing_topic*",
    "mistakes/test_mistakes_on_spark.py::test_a_failing_program*",
    "pyflink/test_programs.py::test_prints_what_flink_prints[[][!bj]*",
    "pyflink/test_programs.py::test_prints_what_flink_prints[[]balance_later]",
    "pyflink/test_programs.py::test_windows_print_what_flink_prints[[][!s]*",
    "pyflink/test_programs.py::test_windows_print_what_flink_prints[[]sliding]",
    "spark/test_batch_mode.py::test_a_key_gets*",
    "spark/test_batch_mode.py::test_an_error*",
    "spark/test_batch_mode.py::test_keys_are*",
    "spark/test_dead_letters.py::test_unread*",
    "spark/test_files.py::test_every_row*",
    "spark/test_from_savepoint.py::*[[]1-50]",
    "secrets/test_leftovers.py::*",
    "spark/test_from_savepoint.py::test_dataframes_and_file_sinks*",
    "spark/test_from_savepoint.py::test_slots_without*",
    "spark/test_from_savepoint.py::test_a_job_starts_from_a_checkpoint*",
    "spark/test_from_savepoint.py::test_user_defined*",
    "spark/test_job_client.py::test_a_job_ends*",
    "spark/test_job_client.py::test_retention*None-True]",
    "spark/test_job_client.py::test_retention*RETAIN*",
    "spark/test_job_client.py::test_a_failed_job*",
    "spark/test_jobs.py::test_a_c*",
    "spark/test_jobs.py::test_a_s*[[]True]",
    "spark/test_jobs.py::test_code_generation*",
    "spark/test_jobs.py::test_resuming*",
    "spark/test_measured.py::test_metrics_and_logs*",
    "spark/test_open_files.py::*",
    "spark/test_recovery.py::test_three_kills*",
    "spark/test_repeats.py::test_seeded*",
    "spark/test_repeats.py::*[[]hashmap]",
    "spark/test_restarts.py::test_a_background*",
    "spark/test_restarts.py::test_jobs_with_checkpointing*",
    "spark/test_restarts.py::test_functions_know*",
    "spark/test_restarts.py::test_the_last_failure*",
    "spark/test_restarts.py::test_without_a_strategy*",
    "spark/test_restarts.py::test_a_commit_that_fails*",
    "spark/test_savepoints.py::test_a_drained*",
    "spark/test_savepoints.py::test_a_second_job*",
    "whatif/test_whatif_on_spark.py::test_an_upsert*",
)


def is_long(node_id: str) -> bool:
    """Returns whether a test on Spark belongs to `make test-long`.

    >>> is_long("tests/system/chaos/test_chaos.py::test_every_sink")
    True
    """
    if "test_transcript_on_spark[" in node_id:
        return not node_id.split("[", 1)[1].startswith(_SELECTED_TRANSCRIPTS)
    return any(fnmatchcase(node_id, f"*{pattern}") for pattern in _PATTERNS)
