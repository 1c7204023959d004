"""Rows as the table that Flink prints, the tableau: a frame of +, - and |, all values to the right."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from penstock.types.logical.kinds import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LogicalType,
    RowType,
    TimestampType,
    TimeType,
)

KIND_COLUMN = "op"
_CUT = "..."


def text_width(text: str) -> int:
    """Returns how many columns of a terminal a text needs. Chinese, Japanese and Korean characters need two.

    >>> text_width("a世")
    3
    """
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def type_width(type_: LogicalType, maximum: int = 30) -> int:
    """Returns the width of a column whose values are not known yet.

    >>> from penstock.types.logical.kinds import BIGINT, STRING
    >>> type_width(BIGINT), type_width(STRING), type_width(DecimalType(8, 2)), type_width(TimestampType(3))
    (20, 30, 11, 23)
    """
    match type_:
        case IntegerType():
            return type_.precision + 1  # and the sign
        case DecimalType():
            return type_.precision + 3  # and the sign, the point and a zero before it
        case BooleanType():
            return 5
        case DateType():
            return 10
        case TimeType():
            return 8 + (1 + type_.precision if type_.precision else 0)
        case TimestampType():
            return 19 + (1 + type_.precision if type_.precision else 0)
    return maximum


class Tableau:
    """Writes lines of a tableau whose column widths are fixed.

    >>> tableau = Tableau(["op", "n"], [2, 5])
    >>> print("\\n".join([*tableau.head(), tableau.row(["+I", "12"]), tableau.border()]))
    +----+-------+
    | op |     n |
    +----+-------+
    | +I |    12 |
    +----+-------+
    """

    def __init__(self, names: Sequence[str], widths: Sequence[int]) -> None:
        self._names = names
        self._widths = [max(width, text_width(name)) for name, width in zip(names, widths, strict=True)]

    @classmethod
    def of_types(cls, row_type: RowType, null: str = "<NULL>", maximum: int = 30, kinds: bool = True) -> Tableau:
        """Returns the tableau of a query. Rows come while it runs, so that the widths depend on types only."""
        names = [field.name for field in row_type.fields]
        widths = [max(type_width(field.type, maximum), len(null)) for field in row_type.fields]
        return cls([KIND_COLUMN, *names], [2, *widths]) if kinds else cls(names, widths)

    @classmethod
    def of_rows(cls, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Tableau:
        """Returns a tableau that is as wide as its values."""
        return cls(names, [max((text_width(row[i]) for row in rows), default=0) for i in range(len(names))])

    def border(self) -> str:
        """Returns a line of the frame."""
        return f"+{'+'.join('-' * (width + 2) for width in self._widths)}+"

    def head(self) -> list[str]:
        """Returns the names of the columns in a frame."""
        return [self.border(), self.row(self._names), self.border()]

    def row(self, values: Sequence[str]) -> str:
        """Returns a line of values. Values that are too wide are cut."""
        return f"|{'|'.join(f' {_fit(v, w)} ' for v, w in zip(values, self._widths, strict=True))}|"


def _fit(text: str, width: int) -> str:
    found = text_width(text)
    if found <= width:
        return " " * (width - found) + text
    kept, used = "", 0
    for character in text:
        used += text_width(character)
        if used > width - len(_CUT):
            break
        kept += character
    return " " * (width - len(_CUT) - text_width(kept)) + kept + _CUT


def lines(tableau: Tableau, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Returns the lines of rows that come one after the other, and their number below. Nothing is shown before the first row."""
    count = 0
    for row in rows:
        if not count:
            yield from tableau.head()
        count += 1
        yield tableau.row(row)
    if not count:
        yield "Empty set"
        return
    yield tableau.border()
    yield f"{count} row{'' if count == 1 else 's'} in set"
