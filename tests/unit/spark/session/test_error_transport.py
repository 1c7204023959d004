"""Errors come out of Spark as they went in, whatever text Spark wraps around them."""

from __future__ import annotations

import sys

import pytest

from penstock.engine.logs import RUNNING
from penstock.errors import CheckpointError, FailedCall, JobError, PenstockError, UserFunctionError
from penstock.runtime.failure import failure
from penstock.spark.failure import CarriedError, carrying, in_our_words

SPARK = """[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
{}
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
"""


def through_spark(error: Exception) -> Exception:
    with pytest.raises(CarriedError) as carried, carrying():
        raise error
    return in_our_words(Exception(SPARK.format(f"penstock.spark.failure.CarriedError: {carried.value}")))


def test_a_function_s_error_arrives_with_all_that_is_known() -> None:
    try:
        raise ValueError("a message\nof two lines ] with [brackets] and penstock-error<nothing>")
    except ValueError as error:
        told = failure(error, name="map", uid="m", key="'k'", element="'ü'", source="s", split="0", position=3, batch=9)
    arrived = through_spark(told)
    assert isinstance(arrived, UserFunctionError)
    assert (arrived.code, arrived.text, arrived.failed) == (told.code, told.text, told.failed)
    assert arrived.__notes__ == told.__notes__
    assert "test_carried.py" in arrived.__notes__[0]


@pytest.mark.parametrize("kind", PenstockError.__subclasses__())
def test_every_class_arrives_as_itself(kind: type[PenstockError]) -> None:
    arrived = through_spark(kind("CODE", "What, why, and what next."))
    assert type(arrived) is kind
    assert str(arrived) == "[CODE] What, why, and what next."


def test_an_error_within_another_with_carrying_is_packed_once() -> None:
    with pytest.raises(CarriedError) as carried, carrying(), carrying():
        raise CheckpointError("STATE_MISSING", "Gone.")
    assert str(carried.value).count("penstock-error<") == 1


def test_other_errors_become_a_failed_job_with_their_stack() -> None:
    arrived = through_spark(ZeroDivisionError("by zero"))
    assert isinstance(arrived, JobError)
    assert arrived.text == "The job failed in Spark: ZeroDivisionError: by zero"
    assert "test_carried.py" in arrived.__notes__[0]


def test_a_function_that_exits_is_told_as_one_that_raised() -> None:
    RUNNING.operator = "price"
    with pytest.raises(CarriedError) as carried, carrying():
        sys.exit(3)
    arrived = in_our_words(Exception(SPARK.format(f"penstock.spark.failure.CarriedError: {carried.value}")))
    assert isinstance(arrived, UserFunctionError)
    assert "Operator 'price' raised SystemExit: it called sys.exit(3) at " in str(arrived)
    assert "test_carried.py:" in str(arrived)


def test_the_last_of_several_attempts_counts() -> None:
    texts = []
    for number in range(2):
        with pytest.raises(CarriedError) as carried, carrying():
            raise JobError("CODE", f"attempt {number}")
        texts.append(str(carried.value))
    assert "attempt 1" in str(in_our_words(Exception("\n".join(texts))))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("java.io.IOException: No space left on device\n\tat java.base/java.io", "DISK_FULL"),
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "WORKER_DIED"),
        ("java.lang.OutOfMemoryError: Java heap space", "OUT_OF_MEMORY"),
        ("java.lang.IllegalStateException: something else", "JOB_FAILED"),
    ],
)
def test_errors_of_spark_s_own_have_codes_too(text: str, code: str) -> None:
    told = in_our_words(RuntimeError(text))
    assert isinstance(told, PenstockError)
    assert told.code == code
    assert isinstance(told.__cause__, RuntimeError)


def test_a_failed_call_can_be_told_without_anything_known() -> None:
    assert FailedCall(name="x").where() == "operator 'x'"
