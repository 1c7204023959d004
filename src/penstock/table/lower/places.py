"""Where the columns of a table are in the output of its scan, and expressions that read them there."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.runtime.relational.expressions.tree import Call, Column, Expression

FieldPath = tuple[int, ...]  # the position of a column, then positions of fields of rows


class ColumnPlaces(dict[int, int]):
    """From the positions of columns in the table to their places in the output.

    A row of which only some fields are read has no place. `fields` has the places of the fields instead.
    """

    def __init__(self, whole: Mapping[int, int], fields: Mapping[FieldPath, int]) -> None:
        super().__init__(whole)
        self.fields = dict(fields)

    @property
    def width(self) -> int:
        """The number of columns of the output."""
        return len(self) + len(self.fields)


def remapped(expression: Expression, places: Mapping[int, int]) -> Expression:
    """Returns an expression whose columns are at other positions. A field of a row may be a column there.

    >>> from penstock.types.logical.kinds import INT, RowType, Field
    >>> row = Column(3, RowType((Field("a", INT), Field("b", INT))), "r")
    >>> remapped(Call("FIELD", (row,), INT, (1,)), ColumnPlaces({}, {(3, 1): 0}))
    Column(index=0, type=IntegerType(bits=32, nullable=True), name='b')
    """
    if isinstance(expression, Column):
        return Column(places[expression.index], expression.type, expression.name)
    if isinstance(expression, Call):
        if isinstance(places, ColumnPlaces) and (path := field_path(expression)) in places.fields:
            return Column(places.fields[path], expression.type, field_name(expression))
        arguments = tuple(remapped(a, places) for a in expression.arguments)
        return Call(expression.function, arguments, expression.type, expression.options)
    return expression


def field_path(expression: Expression) -> FieldPath:
    """Returns the column and the fields that an expression such as `a.b.c` reads; () for other expressions."""
    fields: list[int] = []
    while isinstance(expression, Call) and expression.function == "FIELD" and isinstance(expression.options[0], int):
        fields.append(expression.options[0])
        [expression] = expression.arguments
    return (expression.index, *reversed(fields)) if isinstance(expression, Column) else ()


def field_name(expression: Call) -> str:
    """Returns the name of the field that an expression such as `a.b` reads."""
    [row], [position, *_] = expression.arguments, expression.options
    assert isinstance(position, int)
    fields = getattr(row.type, "fields", ())
    return fields[position].name if fields else ""
