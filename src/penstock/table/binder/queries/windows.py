"""Binds the window table functions TUMBLE, HOP, CUMULATE and SESSION."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Literal
from penstock.runtime.relational.specs.window import Window
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries.building import row_type
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.table_functions import changelog
from penstock.table.binder.scope import Scope
from penstock.table.dialect import nodes
from penstock.table.functions.catalogue import closest
from penstock.table.passes.recognition import real_type
from penstock.table.relations import Relation, WindowAssign
from penstock.types.logical.kinds import DayTimeIntervalType, RowType, TimestampType
from penstock.types.logical.text import summary

# The names of the arguments in their order; those behind the bar may be left out.
ARGUMENTS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "|", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "|", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "|", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP", "|"),
}
WINDOW_COLUMNS = ("window_start", "window_end", "window_time")
WINDOW_BOUND = TimestampType(3, nullable=False)


def bind_table_function(context: Context, node: nodes.TableFunction) -> Relation:
    """Binds TABLE(f(...))."""
    call = node.this
    name = call.name.upper()
    if name in changelog.NAMES:
        return changelog.bind_changelog_function(context, call)
    if name not in ARGUMENTS:
        near = closest(name, [*ARGUMENTS, *changelog.NAMES])
        hint = f" Did you mean {near}?" if near else f" Known are {', '.join([*ARGUMENTS, *changelog.NAMES])}."
        raise context.refuse("SQL_FUNCTION", f"There is no table function {call.name}.{hint}", call)
    arguments = _by_name(context, call, name)
    return _WindowFunction(context, call, name, arguments).bind()


def _by_name(context: Context, call: nodes.Call, name: str) -> dict[str, exp.Expr]:
    names = [n for n in ARGUMENTS[name] if n != "|"]
    least = ARGUMENTS[name].index("|")
    found: dict[str, exp.Expr] = {}
    for i, argument in enumerate(call.expressions):
        if isinstance(argument, nodes.NamedArgument):
            key = argument.this.name.upper()
            if key not in names:
                raise context.refuse(
                    "SQL_FUNCTION", f"{name} has no argument {key}. Known are {', '.join(names)}.", argument
                )
            found[key] = argument.expression
        elif i < len(names):
            found[names[i]] = argument
        else:
            raise context.refuse(
                "SQL_FUNCTION", f"{name} takes at most {len(names)} arguments: {', '.join(names)}.", call
            )
    missing = [n for n in names[:least] if n not in found]
    if missing:
        raise context.refuse("SQL_FUNCTION", f"{name} needs the arguments {', '.join(missing)} as well.", call)
    return found


class _WindowFunction:
    def __init__(self, context: Context, call: nodes.Call, name: str, arguments: dict[str, exp.Expr]) -> None:
        self._context = context
        self._call = call
        self._name = name
        self._arguments = arguments

    def bind(self) -> Relation:
        data = self._arguments["DATA"]
        relation = self._data(data)
        column, time = self._time_column(relation)
        window = self._window(column, time)
        partition = self._partition(data, relation.row_type)
        if partition and self._name != "SESSION":
            raise self._refuse(f"PARTITION BY is only allowed in SESSION, and not in {self._name}.", data)
        attribute = TimestampType(3, time.local, time.attribute, nullable=False)
        fields = relation.row_type.fields
        return WindowAssign(
            input=relation,
            window=replace_partition(window, partition),
            row_type=row_type(
                [*(f.name for f in fields), *WINDOW_COLUMNS],
                [*(f.type for f in fields), WINDOW_BOUND, WINDOW_BOUND, attribute],
            ),
        )

    def _refuse(self, message: str, node: exp.Expr) -> Exception:
        return self._context.refuse("SQL_WINDOW", message, node)

    def _data(self, node: exp.Expr) -> Relation:
        from penstock.table.binder.queries.query import bind_nested
        from penstock.table.binder.queries.tables import bind_table_name

        inner = node.this if isinstance(node, nodes.TableArgument) else node
        if isinstance(inner, exp.Table):
            return bind_table_name(self._context, inner)[0]
        if isinstance(inner, exp.Query | exp.Subquery | nodes.ExplicitTable):
            return bind_nested(replace(self._context.alone(), ctes=self._context.ctes), inner)
        raise self._refuse(f"The first argument of {self._name} is a table: TABLE t.", node)

    def _time_column(self, relation: Relation) -> tuple[int, TimestampType]:
        input_type = relation.row_type
        node = self._arguments["TIMECOL"]
        if not isinstance(node, nodes.Descriptor) or len(node.expressions) != 1:
            raise self._refuse(f"{self._name} takes the time column as DESCRIPTOR(column).", node)
        name = node.expressions[0].name
        index = input_type.index(name)
        if index is None:
            near = closest(name, [f.name for f in input_type.fields])
            hint = f" Did you mean '{near}'?" if near else ""
            raise self._refuse(f"Column '{name}' not found in the table of {self._name}.{hint}", node.expressions[0])
        type_ = input_type.fields[index].type
        if isinstance(type_, TimestampType) and type_.attribute:
            type_ = real_type(relation).fields[index].type
        if not isinstance(type_, TimestampType) or (not type_.attribute and self._context.settings.streaming):
            raise self._refuse(
                f"The window function {self._name} requires the column '{name}' to be a time attribute, but it is "
                f"{summary(type_)}. Define a WATERMARK for it, or use PROCTIME(). Computed, grouped and joined columns are none.",
                node,
            )
        return index, type_

    def _window(self, column: int, time: TimestampType) -> Window:
        size = self._milliseconds("GAP" if self._name == "SESSION" else "SIZE")
        slide = 0
        if self._name in ("HOP", "CUMULATE"):
            key = "SLIDE" if self._name == "HOP" else "STEP"
            slide = self._milliseconds(key)
            if self._name == "CUMULATE" and size % slide:
                raise self._refuse(
                    f"CUMULATE requires that the size is an integral multiple of the step, but got size {size} ms and "
                    f"step {slide} ms.",
                    self._arguments[key],
                )
        offset = self._milliseconds("OFFSET", signed=True) if "OFFSET" in self._arguments else 0
        if self._name == "TUMBLE" and abs(offset) >= size:
            raise self._refuse(
                f"TUMBLE requires that the offset is smaller than the size, but got size {size} ms and offset {offset} ms.",
                self._arguments["OFFSET"],
            )
        zone = self._context.settings.zone if time.local else ""
        return Window(
            self._name,  # type: ignore[arg-type]
            size,
            slide,
            offset,
            column,
            time.attribute != "PROCTIME",
            zone,
        )

    def _milliseconds(self, key: str, signed: bool = False) -> int:
        node = self._arguments[key]
        value = ExpressionBinder(Scope(), self._context.text).bind(node)
        if not isinstance(value, Literal) or not isinstance(value.type, DayTimeIntervalType):
            raise self._refuse(
                f"{key} of {self._name} must be an interval of days, hours, minutes or seconds such as INTERVAL '10' "
                f"MINUTE, and not {summary(value.type)}.",
                node,
            )
        if value.value <= 0 and not signed:
            raise self._refuse(f"{key} of {self._name} must be positive, not {value.value} ms.", node)
        return int(value.value)

    def _partition(self, data: exp.Expr, input_type: RowType) -> tuple[int, ...]:
        found = []
        for node in data.args.get("partition_by") or ():
            index = input_type.index(node.name)
            if index is None:
                raise self._refuse(f"Column '{node.name}' not found in the table of {self._name}.", node)
            found.append(index)
        return tuple(found)


def replace_partition(window: Window, partition: tuple[int, ...]) -> Window:
    """Returns the window with PARTITION BY."""
    return msgspec.structs.replace(window, partition=partition) if partition else window
