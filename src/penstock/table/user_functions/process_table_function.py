"""Process table functions in Python: the class, and the decorator `udptf`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Generic, Literal, TypeVar

from penstock.runtime.relational.process_tables.context import ProcessTableContext
from penstock.table.user_functions.function import (
    FunctionKind,
    UserDefinedFunction,
    UserDefinedFunctionWrapper,
    logical_type,
)
from penstock.types.logical.kinds import Field, RowType

S = TypeVar("S")


class ProcessTableFunction(UserDefinedFunction, Generic[S]):
    """A function from the rows of a table to any number of rows, with state and timers for each partition.

    >>> class Numbered(ProcessTableFunction):
    ...     def create_state(self):
    ...         return [0]
    ...
    ...     def eval(self, ctx, state, row):
    ...         state[0] += 1
    ...         yield state[0], str(row)
    >>> udptf(Numbered(), result_type="ROW<number INT, text STRING>")
    <process table function Numbered>
    """

    def create_state(self) -> S | None:
        """Returns the state of a new partition: any value that can be changed in place, such as a list or a Row."""
        return None

    def eval(self, ctx: ProcessTableContext, state: S, row: Any, *args: Any, **kwargs: Any) -> Iterable[Any] | None:
        """Called with each row. Yields rows: a Row or tuple each, or a value if rows have one column."""
        raise NotImplementedError

    def on_timer(self, ctx: ProcessTableContext, state: S) -> Iterable[Any] | None:
        """Called when the watermark reaches a timer of the partition. Yields rows like `eval`."""
        return None


class ProcessTableFunctionWrapper(UserDefinedFunctionWrapper):
    """What `udptf` returns."""

    kind: ClassVar[FunctionKind] = "process table"

    def __init__(
        self, func: Any, result_type: Any, semantics: str, deterministic: bool | None, name: str | None
    ) -> None:
        super().__init__(func, None, "general", deterministic, name)
        if not isinstance(func, ProcessTableFunction):
            raise TypeError(
                f"A process table function is an object of a class that extends ProcessTableFunction, not {func!r}."
            )
        if semantics not in ("set", "row"):
            raise ValueError(f"The semantics must be 'set' or 'row', got {semantics!r}.")
        self.semantics = semantics
        given = logical_type(result_type, "result_type")
        self.emitted = given if isinstance(given, RowType) else RowType((Field("f0", given),))


def udptf(
    f: ProcessTableFunction[Any],
    result_type: Any,
    semantics: Literal["set", "row"] = "set",
    deterministic: bool | None = None,
    name: str | None = None,
) -> ProcessTableFunctionWrapper:
    """Makes a process table function for SQL out of a ProcessTableFunction.

    semantics: "set" has state and timers per partition; "row" looks at each row alone.
    """
    return ProcessTableFunctionWrapper(f, result_type, semantics, deterministic, name)
