"""Prints errors: those of Penstock and Spark as one line with a code, those of the program with its stack trace."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from penstock.errors import PenstockError

_STACK = re.compile(
    r"^\s*(at [\w.$]+\(|[\w.$/]+(?:<init>)?\(\w+\.(?:java|scala):|This stopped SparkContext|Traceback \(most recent|JVM stacktrace"
    r"|\*\*\* |File \")",
    re.MULTILINE,
)
_PACKAGE = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """What is printed for an error. `stack` is empty unless the error comes from the program itself."""

    code: str
    message: str
    stack: str = ""


def describe_error(error: BaseException) -> ErrorReport:
    """The report on an error of Penstock, Spark or the program.

    >>> describe_error(PenstockError("NO_SINK", "Job 'a' has no sink.")).code
    'NO_SINK'
    """
    if isinstance(error, PenstockError):
        return ErrorReport(error.code, without_stack(error.text))
    if type(error).__module__.split(".")[0] in ("pyspark", "py4j"):
        return ErrorReport("SPARK", without_stack(str(error)) or type(error).__name__)
    return ErrorReport("PROGRAM", "".join(traceback.format_exception_only(error)).strip(), _program_stack(error))


@contextmanager
def error_exit() -> Iterator[None]:
    """Prints a PenstockError of the block as one line on stderr and exits with code 1."""
    try:
        yield
    except PenstockError as error:
        print(f"penstock: [{error.code}] {without_stack(error.text)}", file=sys.stderr)
        raise typer.Exit(1) from None


def without_stack(text: str) -> str:
    """The text before the first line of a Java or Python stack trace.

    >>> without_stack("It broke.\\n\\tat org.apache.Spark.run(Spark.scala:1)")
    'It broke.'
    """
    found = _STACK.search(text)
    return (text[: found.start()] if found else text).strip()


def _program_stack(error: BaseException) -> str:
    """The stack trace without the frames of Penstock and runpy."""
    trace = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = trace
    while part is not None:
        frames = [f for f in part.stack if not f.filename.startswith(_PACKAGE) and "runpy" not in f.filename]
        part.stack = traceback.StackSummary.from_list(frames)
        part = part.__cause__ or part.__context__
    return "".join(trace.format()).rstrip()
