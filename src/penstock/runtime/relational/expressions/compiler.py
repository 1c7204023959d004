"""Compiles typed expressions into functions of batches.

Equal subexpressions are computed once per batch, also those of a condition and of the columns after it. Constants are computed
once. A branch that can fail (a division, a cast of text) runs on the rows that select it only, because kernels compute all rows
of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ExpressionError
from penstock.runtime.relational.expressions.failed_row import located
from penstock.runtime.relational.expressions.frame import Frame, Session, Value
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal, python_function
from penstock.runtime.relational.expressions.values import scalar
from penstock.runtime.relational.functions.definition import CallContext
from penstock.runtime.relational.functions.registry import FUNCTIONS
from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

Evaluate = Callable[[Frame], Value]


@dataclass(frozen=True)
class Node:
    """A compiled expression."""

    evaluate: Evaluate
    columns: frozenset[int]
    constant: bool
    raises: bool
    type: LogicalType

    def column(self, frame: Frame) -> pa.Array:
        """Returns the result as a column."""
        return frame.filled(self.evaluate(frame))


class Compiler:
    """Compiles the expressions of one operator, so that they share results."""

    def __init__(self) -> None:
        self._nodes: dict[Expression, Node] = {}

    def compile(self, expression: Expression) -> Node:
        """Returns the compiled expression."""
        found = self._nodes.get(expression)
        if found is None:
            found = self._compile(expression)
            if not _changes(expression):
                self._nodes[expression] = found
        return found

    def _compile(self, expression: Expression) -> Node:
        match expression:
            case Column():
                index = expression.index
                return Node(lambda frame: frame.columns[index], frozenset((index,)), False, False, expression.type)
            case Literal():
                constant = scalar(expression.value, expression.type)
                return Node(lambda frame: constant, frozenset(), True, False, expression.type)
            case Call():
                return self._call(expression)

    def _call(self, call: Call) -> Node:
        arguments = [self.compile(argument) for argument in call.arguments]
        columns = frozenset[int]().union(*(a.columns for a in arguments))
        python = python_function(call)
        if python is not None:
            # It is never a constant: it is called for each row, as in Flink, because it may count its calls.
            evaluate = _python(python, call, arguments)
            return Node(_remembered(evaluate) if python.deterministic else evaluate, columns, False, True, call.type)
        special = _SPECIAL.get(call.function)
        function = FUNCTIONS.get(call.function)
        if special is None and function is None:
            raise KeyError(f"function {call.function} is not known")
        deterministic = function is None or function.is_deterministic(len(arguments))
        constant = deterministic and all(a.constant for a in arguments)
        raises = any(a.raises for a in arguments)
        if function is not None and special is None:
            raises = raises or function.can_raise([a.type for a in arguments], call.type)
        if special is not None:
            evaluate = special(call, arguments)
        else:
            assert function is not None
            evaluate = _plain(call, arguments, function.kernel, deterministic)
        if constant:
            evaluate = _once(evaluate)
        else:
            evaluate = _remembered(evaluate) if deterministic else evaluate
        return Node(evaluate, columns, constant, raises, call.type)


def _changes(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return False
    python = python_function(expression)
    if python is not None and not python.deterministic:
        return True
    function = FUNCTIONS.get(expression.function)
    if function is not None and not function.is_deterministic(len(expression.arguments)):
        return True
    return any(_changes(a) for a in expression.arguments)


_NUMBERS = iter(range(1 << 62))


def _remembered(evaluate: Evaluate) -> Evaluate:
    number = next(_NUMBERS)
    return lambda frame: frame.result(number, evaluate)


def _once(evaluate: Evaluate) -> Evaluate:
    """A constant is computed when the first row needs it: it is no error if it fails in a branch that no row selects."""
    memo: dict[Session, Value] = {}

    def once(frame: Frame) -> Value:
        found = memo.get(frame.session)
        if found is None:
            if len(memo) > 8:
                memo.clear()
            found = evaluate(Frame((), 1, frame.session))
            if not isinstance(found, pa.Scalar):
                found = found[0]
            memo[frame.session] = found
        return found

    return once


def _plain(call: Call, arguments: list[Node], kernel: Callable[..., Value], deterministic: bool) -> Evaluate:
    types = tuple(a.type for a in arguments)
    result = arrow_type(call.type)

    def compute(frame: Frame, values: Sequence[Value], length: int) -> Value:
        context = CallContext(call.type, types, call.options, length, frame.session, frame.now)
        if not any(isinstance(v, pa.Array) for v in values) and arguments and deterministic:
            # Kernels see at least one column; constants are columns of one row.
            single = CallContext(call.type, types, call.options, 1, frame.session)
            found = kernel(single, *(pa.array([v], v.type) if v.is_valid else pa.nulls(1, v.type) for v in values))
            return _typed(found, result) if isinstance(found, pa.Scalar) else _typed(found, result)[0]
        return _typed(kernel(context, *values), result)

    def evaluate(frame: Frame) -> Value:
        values = [a.evaluate(frame) for a in arguments]
        try:
            return compute(frame, values, frame.length)
        except ExpressionError as error:
            raise located(error, call, frame, values, lambda part, n: compute(frame, part, n)) from error

    return evaluate


def _python(function: PythonFunction, call: Call, arguments: list[Node]) -> Evaluate:
    from penstock.runtime.relational.python_functions.scalar import scalar_call  # few queries need it

    results = scalar_call(function, [a.type for a in arguments], call.type)
    return lambda frame: results([a.evaluate(frame) for a in arguments], frame.length, frame.session.zone)


def _typed(value: Any, wanted: pa.DataType) -> Value:
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
    if value.type == wanted:
        return value
    return value.cast(wanted)


# ---------------------------------------------------------------------------------------------- guarded branches


def _case(call: Call, arguments: list[Node]) -> Evaluate:
    """CASE WHEN a THEN x WHEN b THEN y ELSE z END: arguments are a, x, b, y, z."""
    conditions, branches, otherwise = arguments[:-1:2], arguments[1:-1:2], arguments[-1]
    result = arrow_type(call.type)
    eager = not any(n.raises for n in (*conditions[1:], *branches, otherwise))

    def kernels(frame: Frame) -> Value:
        found = [c.evaluate(frame) for c in conditions]
        values = [_typed(b.evaluate(frame), result) for b in (*branches, otherwise)]
        if pa.types.is_nested(result):
            return _chosen(frame, [frame.filled(c) for c in found], [frame.filled(v) for v in values], result)
        if len(found) == 1 and isinstance(found[0], pa.Array):
            return (
                pc.if_else(found[0], values[0], values[1])
                if found[0].null_count == 0
                else pc.case_when(pc.make_struct(*found), *values)
            )
        return pc.case_when(pc.make_struct(*(frame.filled(c) for c in found)), *values)

    def guarded(frame: Frame) -> Value:
        open_rows: pa.Array | None = None  # positions that no condition has selected yet; None means all
        parts: list[tuple[pa.Array, pa.Array]] = []
        for condition, branch in zip(conditions, branches, strict=True):
            current = frame if open_rows is None else frame.select(open_rows, set(_used(condition, branch)))
            if current.length == 0:
                break
            chosen = pc.fill_null(condition.column(current), False)
            positions = pc.indices_nonzero(chosen).cast(pa.int64())
            rows = positions if open_rows is None else open_rows.take(positions)
            if len(rows):
                parts.append((rows, _branch(branch, frame, rows, result)))
            rest = pc.indices_nonzero(pc.invert(chosen)).cast(pa.int64())
            open_rows = rest if open_rows is None else open_rows.take(rest)
        if open_rows is None or len(open_rows):
            rows = pa.array(range(frame.length), pa.int64()) if open_rows is None else open_rows
            parts.append((rows, _branch(otherwise, frame, rows, result)))
        return _scattered(parts, frame.length, result)

    return kernels if eager else guarded


def _used(*nodes: Node) -> frozenset[int]:
    return frozenset[int]().union(*(n.columns for n in nodes))


def _branch(branch: Node, frame: Frame, rows: pa.Array, result: pa.DataType) -> pa.Array:
    selected = frame if len(rows) == frame.length else frame.select(rows, set(branch.columns))
    return _typed(branch.column(selected), result)


def _scattered(parts: list[tuple[pa.Array, pa.Array]], length: int, result: pa.DataType) -> pa.Array:
    """Puts the values of parts, which have disjoint positions, into the order of the rows."""
    if not parts:
        return pa.nulls(length, result)
    if len(parts) == 1 and len(parts[0][0]) == length:
        return parts[0][1]
    positions = pa.concat_arrays([rows for rows, _ in parts])
    values = pa.concat_arrays([value for _, value in parts])
    return values.take(pc.sort_indices(positions))


def _chosen(frame: Frame, conditions: list[pa.Array], values: list[pa.Array], result: pa.DataType) -> pa.Array:
    parts, taken = [], pa.repeat(pa.scalar(False), frame.length)
    for condition, value in zip([*conditions, pa.repeat(pa.scalar(True), frame.length)], values, strict=True):
        now = pc.and_(pc.fill_null(condition, False), pc.invert(taken))
        rows = pc.indices_nonzero(now).cast(pa.int64())
        parts.append((rows, value.take(rows)))
        taken = pc.or_(taken, now)
    return _scattered(parts, frame.length, result)


def _coalesce(call: Call, arguments: list[Node]) -> Evaluate:
    result = arrow_type(call.type)
    eager = not any(n.raises for n in arguments[1:]) and not pa.types.is_nested(result)

    def kernels(frame: Frame) -> Value:
        values = [_typed(a.evaluate(frame), result) for a in arguments]
        return pc.coalesce(*values)

    def guarded(frame: Frame) -> Value:
        open_rows: pa.Array | None = None
        parts: list[tuple[pa.Array, pa.Array]] = []
        for number, argument in enumerate(arguments):
            current = frame if open_rows is None else frame.select(open_rows, set(argument.columns))
            if current.length == 0:
                break
            value = _typed(argument.column(current), result)
            keep = value.is_valid() if number < len(arguments) - 1 else pa.repeat(pa.scalar(True), len(value))
            positions = pc.indices_nonzero(keep).cast(pa.int64())
            parts.append((positions if open_rows is None else open_rows.take(positions), value.take(positions)))
            rest = pc.indices_nonzero(pc.invert(keep)).cast(pa.int64())
            open_rows = rest if open_rows is None else open_rows.take(rest)
        return _scattered(parts, frame.length, result)

    return kernels if eager else guarded


def _logic(decisive: bool) -> Callable[[Call, list[Node]], Evaluate]:
    """AND and OR: an operand that can fail runs only on rows that the operands before it have not decided."""
    join = pc.or_kleene if decisive else pc.and_kleene

    def build(call: Call, arguments: list[Node]) -> Evaluate:
        guarded = [a.raises for a in arguments]

        def evaluate(frame: Frame) -> Value:
            found: Value = arguments[0].evaluate(frame)
            for argument, guard in zip(arguments[1:], guarded[1:], strict=True):
                if not guard:
                    found = join(found, argument.evaluate(frame))
                    continue
                column = frame.filled(found)
                undecided = pc.invert(pc.fill_null(pc.equal(column, decisive), False))
                rows = pc.indices_nonzero(undecided).cast(pa.int64())
                if len(rows) == 0:
                    return column
                value = argument.column(
                    frame if len(rows) == frame.length else frame.select(rows, set(argument.columns))
                )
                joined = join(column.take(rows), value)
                rest = pc.indices_nonzero(pc.invert(undecided)).cast(pa.int64())
                found = _scattered([(rows, joined), (rest, column.take(rest))], frame.length, pa.bool_())
            return found

        return evaluate

    return build


_SPECIAL: dict[str, Callable[[Call, list[Node]], Evaluate]] = {
    "CASE": _case,
    "COALESCE": _coalesce,
    "AND": _logic(decisive=False),
    "OR": _logic(decisive=True),
}


class Projection:
    """Several expressions over one batch."""

    def __init__(
        self, expressions: Sequence[Expression], session: Session | None = None, compiler: Compiler | None = None
    ) -> None:
        compiler = compiler or Compiler()
        self._nodes = [compiler.compile(e) for e in expressions]
        self.session = session or Session()

    def __call__(self, columns: Sequence[pa.Array], length: int) -> list[pa.Array]:
        """Returns the results as columns."""
        return self.on(Frame(columns, length, self.session))

    def on(self, frame: Frame) -> list[pa.Array]:
        """Returns the results for the rows of a frame."""
        return [node.column(frame) for node in self._nodes]


class Condition:
    """A condition over a batch: which rows it keeps. NULL does not."""

    def __init__(
        self, expression: Expression, session: Session | None = None, compiler: Compiler | None = None
    ) -> None:
        self._node = (compiler or Compiler()).compile(expression)
        self.session = session or Session()

    def __call__(self, columns: Sequence[pa.Array], length: int) -> pa.Array:
        """Returns a column of booleans without nulls."""
        return self.on(Frame(columns, length, self.session))

    def on(self, frame: Frame) -> pa.Array:
        """Returns which rows of a frame are kept."""
        return pc.fill_null(self._node.column(frame), False)
