"""Errors arrive on the driver as they were raised, whatever text Spark adds to them."""

from __future__ import annotations

import sys

import pytest

from penstock.engine.program.running_function import running_function
from penstock.errors import CheckpointError, FailedCall, JobError, PenstockError, UserFunctionError
from penstock.runtime.failure import function_error
from penstock.spark.session.error_transport import TransportedError, translate_error, wrap_errors

SPARK = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
{}
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
"""


def through_spark(error: Exception) -> Exception:
    with pytest.raises(TransportedError) as carried, wrap_errors():
        raise error
    return translate_error(
        Exception(SPARK.format(f"penstock.spark.session.error_transport.CarriedError: {carried.value}"))
    )


def test_the_error_of_a_function_arrives_with_its_details() -> None:
    try:
        raise ValueError("a message\nof two lines ] with [brackets] and penstock-error<nothing>")
    except ValueError as error:
        sent = function_error(
            error, name="map", uid="m", key="'k'", element="'ü'", source="s", split="0", position=3, batch=9
        )
    arrived = through_spark(sent)
    assert isinstance(arrived, UserFunctionError)
    assert (arrived.code, arrived.text, arrived.failed) == (sent.code, sent.text, sent.failed)
    assert arrived.__notes__ == sent.__notes__
    assert "test_error_transport.py" in arrived.__notes__[0]


@pytest.mark.parametrize("kind", PenstockError.__subclasses__())
def test_every_error_class_arrives_unchanged(kind: type[PenstockError]) -> None:
    arrived = through_spark(kind("CODE", "What, why, and what next."))
    assert type(arrived) is kind
    assert str(arrived) == "[CODE] What, why, and what next."


def test_an_error_in_nested_blocks_is_encoded_once() -> None:
    with pytest.raises(TransportedError) as carried, wrap_errors(), wrap_errors():
        raise CheckpointError("STATE_MISSING", "Gone.")
    assert str(carried.value).count("penstock-error<") == 1


def test_other_errors_become_a_job_error_with_their_stack() -> None:
    arrived = through_spark(ZeroDivisionError("by zero"))
    assert isinstance(arrived, JobError)
    assert arrived.text == "The job failed in Spark: ZeroDivisionError: by zero"
    assert "test_error_transport.py" in arrived.__notes__[0]


def exit_in_operator(name: str) -> None:
    running_function().operator = name
    sys.exit(3)


def test_a_function_that_exits_is_reported_as_one_that_raised() -> None:
    with pytest.raises(TransportedError) as carried, wrap_errors():
        exit_in_operator("price")
    arrived = translate_error(
        Exception(SPARK.format(f"penstock.spark.session.error_transport.CarriedError: {carried.value}"))
    )
    assert isinstance(arrived, UserFunctionError)
    assert "Operator 'price' raised SystemExit: it called sys.exit(3) at " in str(arrived)
    assert "test_error_transport.py:" in str(arrived)


def test_the_last_of_several_attempts_counts() -> None:
    texts = []
    for number in range(2):
        with pytest.raises(TransportedError) as carried, wrap_errors():
            raise JobError("CODE", f"attempt {number}")
        texts.append(str(carried.value))
    assert "attempt 1" in str(translate_error(Exception("\n".join(texts))))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("java.io.IOException: No space left on device\n\tat java.base/java.io", "DISK_FULL"),
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "WORKER_DIED"),
        ("java.lang.OutOfMemoryError: Java heap space", "OUT_OF_MEMORY"),
        ("java.lang.IllegalStateException: something else", "JOB_FAILED"),
    ],
)
def test_errors_of_spark_have_codes(text: str, code: str) -> None:
    error = translate_error(RuntimeError(text))
    assert isinstance(error, PenstockError)
    assert error.code == code
    assert isinstance(error.__cause__, RuntimeError)


def test_a_failed_call_can_be_shown_without_details() -> None:
    assert FailedCall(name="x").where() == "operator 'x'"
