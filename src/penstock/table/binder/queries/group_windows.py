"""Legacy group windows: GROUP BY TUMBLE(ts, INTERVAL '1' HOUR) with TUMBLE_START, TUMBLE_END, TUMBLE_ROWTIME, TUMBLE_PROCTIME."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Column, Expression, Literal
from penstock.runtime.relational.specs.window import Window
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.stage import Stage
from penstock.table.dialect import nodes
from penstock.table.passes.recognition import real_type
from penstock.types.logical.kinds import DayTimeIntervalType, LogicalType, TimestampType
from penstock.types.logical.text import summary

_KINDS = {"TUMBLE": 2, "HOP": 3, "SESSION": 2}
_PROPERTIES = {"_START": "start", "_END": "end", "_ROWTIME": "time", "_PROCTIME": "proctime"}


def is_group_window(node: exp.Expr) -> bool:
    """Whether a node is TUMBLE(...), HOP(...) or SESSION(...)."""
    return isinstance(node, nodes.Call) and node.name.upper() in _KINDS and not node.args.get("path")


def auxiliary(node: nodes.Call) -> tuple[str, str] | None:
    """Returns kind and property of TUMBLE_START(...) and the like, or None for other calls."""
    name = node.name.upper()
    for suffix, property_ in _PROPERTIES.items():
        if name.endswith(suffix) and name.removesuffix(suffix) in _KINDS:
            return name.removesuffix(suffix), property_
    return None


@dataclass(frozen=True)
class GroupWindow:
    """A window among the grouping expressions. `time` is the time attribute in the input."""

    window: Window
    time: Column
    arguments: tuple[Expression, ...]

    def matches(self, context: Context, stage: Stage, kind: str, node: nodes.Call) -> bool:
        """Whether an auxiliary function has the same arguments."""
        return kind == self.window.kind and tuple(stage.bind(e) for e in node.expressions) == self.arguments

    def at(self, column: int) -> Window:
        """Returns the window with the time attribute at a position."""
        return msgspec.structs.replace(self.window, time_column=column)

    def property_type(self, property_: str) -> LogicalType:
        """Returns the type of a property, as Flink's schema has it."""
        if property_ in ("start", "end"):
            return TimestampType(3, nullable=False)
        return self.time.type


def bind_group_window(context: Context, stage: Stage, node: nodes.Call) -> GroupWindow:
    """Binds a group window."""
    kind = node.name.upper()
    arguments = tuple(stage.bind(e) for e in node.expressions)
    wanted = _KINDS[kind]
    if len(arguments) not in (wanted, wanted + 1):
        raise context.refuse(
            "SQL_WINDOW", f"{kind} in GROUP BY takes a time attribute and {wanted - 1} intervals.", node
        )
    if len(arguments) > wanted:
        raise context.refuse(
            "SQL_UNSUPPORTED", f"{kind} with an alignment is not supported. Use the table function.", node
        )
    time = arguments[0]
    if isinstance(time, Column) and isinstance(time.type, TimestampType) and time.type.attribute:
        time = Column(time.index, real_type(stage.relation).fields[time.index].type, time.name)
    timed = isinstance(time.type, TimestampType) and (time.type.attribute or not context.settings.streaming)
    if not timed or not isinstance(time.type, TimestampType) or not isinstance(time, Column):
        raise context.refuse(
            "SQL_WINDOW",
            f"{kind} in GROUP BY takes a time attribute, and not {summary(time.type)}. Define a WATERMARK for the column, or "
            "use PROCTIME().",
            node.expressions[0],
        )
    sizes = []
    for argument, part in zip(arguments[1:], node.expressions[1:], strict=True):
        if not isinstance(argument, Literal) or not isinstance(argument.type, DayTimeIntervalType):
            raise context.refuse(
                "SQL_WINDOW",
                f"{kind} takes intervals of days, hours, minutes or seconds, not {summary(argument.type)}.",
                part,
            )
        if argument.value <= 0:
            raise context.refuse("SQL_WINDOW", f"An interval of {kind} must be positive.", part)
        sizes.append(int(argument.value))
    zone = context.settings.zone if time.type.local else ""
    # HOP(time, slide, size)
    window = Window(
        kind,  # type: ignore[arg-type]
        sizes[-1],
        sizes[0] if kind == "HOP" else 0,
        event_time=time.type.attribute != "PROCTIME",
        zone=zone,
    )
    return GroupWindow(window, time, arguments)
