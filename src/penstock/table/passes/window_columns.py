"""Which columns of a relation are the bounds of a window."""

from __future__ import annotations

from typing import NamedTuple

from penstock.runtime.relational.expressions.tree import Call, Column
from penstock.runtime.relational.specs.window import Window
from penstock.table import relations as r
from penstock.table.passes.rewriting import conjuncts


class WindowColumns(NamedTuple):
    """Positions of window_start, window_end and window_time, or -1. `window` is the window that they come from."""

    start: int
    end: int
    time: int
    window: Window


def window_columns(relation: r.Relation) -> WindowColumns | None:
    """Returns the window columns of a relation, if its rows belong to windows.

    They come from a window table function or a window aggregate, and Calc and WindowRank keep them, and Expand if all grouping
    sets have them.
    """
    match relation:
        case r.WindowAssign():
            width = len(relation.input.row_type.fields)
            return WindowColumns(width, width + 1, width + 2, relation.window)
        case r.WindowAggregate() if not relation.legacy:
            first = len(relation.keys) + len(relation.calls)
            places = {p: first + i for i, p in enumerate(relation.properties)}
            return _known(places.get("start", -1), places.get("end", -1), places.get("time", -1), relation.window)
        case r.Calc():
            below = window_columns(relation.input)
            if below is None:
                return None
            columns: dict[int, int] = {}
            for i, projection in enumerate(relation.projections):
                if isinstance(projection, Column):
                    columns.setdefault(projection.index, i)
            start, end, time = (columns.get(p, -1) for p in (below.start, below.end, below.time))
            return _known(start, end, time, below.window)
        case r.WindowRank() | r.Unnest() | r.TableFunctionCall():
            return window_columns(relation.input)
        case r.Expand():
            below = window_columns(relation.input)
            if below is None or not all({below.start, below.end} <= set(s) for s in relation.sets):
                return None
            time = below.time if all(below.time in s for s in relation.sets) else -1
            return WindowColumns(below.start, below.end, time, below.window)
        case r.Join() if joins_windows(relation):
            if relation.kind == "FULL":  # either side may be missing
                return None
            side = window_columns(relation.right if relation.kind == "RIGHT" else relation.left)
            assert side is not None
            if relation.kind != "RIGHT":
                return side
            width = len(relation.left.row_type.fields)
            start, end, time = (c + width if c >= 0 else -1 for c in (side.start, side.end, side.time))
            return WindowColumns(start, end, time, side.window)
    return None


def joins_windows(join: r.Join) -> bool:
    """Whether the condition has the windows of both sides equal."""
    return joined_window_columns(join).keys() == {"start", "end"}


def joined_window_columns(join: r.Join) -> dict[str, tuple[int, int]]:
    """Returns the bounds of windows ("start", "end") that a condition has equal: their columns in the left and right input."""
    if window_columns(join.left) is None or window_columns(join.right) is None:
        return {}
    width = len(join.left.row_type.fields)
    found: dict[str, tuple[int, int]] = {}
    for part in conjuncts(join.condition):
        if not isinstance(part, Call) or part.function != "=":
            continue
        columns = sorted(a.index for a in part.arguments if isinstance(a, Column))
        if len(columns) != 2 or not columns[0] < width <= columns[1]:
            continue
        left, right = columns[0], columns[1] - width
        bound = _bound(join.left, left)
        if bound is not None and bound == _bound(join.right, right):
            found[bound] = left, right
    return found


def _bound(relation: r.Relation, column: int) -> str | None:
    """Which bound of a window a column is. A Calc may have it several times."""
    while isinstance(relation, r.Calc):
        projection = relation.projections[column]
        if not isinstance(projection, Column):
            return None
        relation, column = relation.input, projection.index
    found = window_columns(relation)
    if found is None:
        return None
    return {found.start: "start", found.end: "end"}.get(column)


def _known(start: int, end: int, time: int, window: Window) -> WindowColumns | None:
    return WindowColumns(start, end, time, window) if max(start, end, time) >= 0 else None
