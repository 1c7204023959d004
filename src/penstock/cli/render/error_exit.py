"""How an error is told on the command line: ours and Spark's in one line with a code, the program's by its own lines."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from penstock.errors import PenstockError

_STACK = re.compile(
    r"^\s*(at [\w.$]+\(|[\w.$/]+(?:<init>)?\(\w+\.(?:java|scala):|This stopped SparkContext|Traceback \(most recent|JVM stacktrace"
    r"|\*\*\* |File \")",
    re.MULTILINE,
)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True, slots=True)
class Failure:
    """What the user is told; `stack` is empty unless the error is in the program itself."""

    code: str
    text: str
    stack: str = ""


def failure_of(error: BaseException) -> Failure:
    """The words for an error.

    >>> failure_of(PenstockError("NO_SINK", "Job 'a' has no sink.")).code
    'NO_SINK'
    """
    if isinstance(error, PenstockError):
        return Failure(error.code, without_stack(error.text))
    if type(error).__module__.split(".")[0] in ("pyspark", "py4j"):
        return Failure("SPARK", without_stack(str(error)) or type(error).__name__)
    return Failure("PROGRAM", "".join(traceback.format_exception_only(error)).strip(), _stack_of_program(error))


@contextmanager
def told() -> Iterator[None]:
    """An error of ours in this block is one line on stderr, and exit code 1."""
    try:
        yield
    except PenstockError as error:
        print(f"penstock: [{error.code}] {without_stack(error.text)}", file=sys.stderr)
        raise typer.Exit(1) from None


def without_stack(text: str) -> str:
    """The text up to the first line of a stack, Spark's or Python's.

    >>> without_stack("It broke.\\n\\tat org.apache.Spark.run(Spark.scala:1)")
    'It broke.'
    """
    found = _STACK.search(text)
    return (text[: found.start()] if found else text).strip()


def _stack_of_program(error: BaseException) -> str:
    """Python's report without the frames of this package and of what runs the program."""
    report = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = report
    while part is not None:
        mine = [f for f in part.stack if not f.filename.startswith(_PACKAGE) and "runpy" not in f.filename]
        part.stack = traceback.StackSummary.from_list(mine)
        part = part.__cause__ or part.__context__
    return "".join(report.format()).rstrip()
