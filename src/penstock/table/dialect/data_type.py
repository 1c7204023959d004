"""Data types as they are written in SQL, before they are resolved."""

from __future__ import annotations

import msgspec


class IntervalQualifier(msgspec.Struct, frozen=True):
    """DAY(3) TO SECOND(6). `precision` belongs to `start`, `fraction` to the seconds."""

    start: str
    end: str | None = None
    precision: int | None = None
    fraction: int | None = None

    def __str__(self) -> str:
        text = self.start
        if self.precision is not None:
            inner = (
                f"{self.precision}, {self.fraction}"
                if self.end is None and self.fraction is not None
                else f"{self.precision}"
            )
            text += f"({inner})"
        if self.end is not None:
            text += f" TO {self.end}" + (f"({self.fraction})" if self.fraction is not None else "")
        return text


class SqlField(msgspec.Struct, frozen=True):
    """A field of a ROW or STRUCTURED type, or an element of another type, which has no name."""

    type: SqlType
    name: str | None = None
    comment: str | None = None


class SqlType(msgspec.Struct, frozen=True):
    """A data type as written.

    name: in upper case, one word per type: INT for INTEGER, DECIMAL for DEC and NUMERIC, CHAR, VARCHAR, STRING, BINARY, VARBINARY,
        BYTES, DOUBLE, TIMESTAMP, TIMESTAMP_LTZ, TIME, TIME_LTZ, INTERVAL, ARRAY, MULTISET, MAP, ROW, STRUCTURED, RAW, BITMAP,
        VARIANT, ANY, or USER for a type with a name of the user, which is in `arguments`.
    arguments: length, precision and scale; for RAW and STRUCTURED the name of the class and the serializer.
    nullable: None if neither NULL nor NOT NULL was written.
    children: element of ARRAY and MULTISET, key and value of MAP, fields of ROW and STRUCTURED.
    """

    name: str
    arguments: tuple[int | str, ...] = ()
    nullable: bool | None = None
    children: tuple[SqlField, ...] = ()
    qualifier: IntervalQualifier | None = None
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if self.name in ("ROW", "STRUCTURED"):
            parts = [f"'{argument}'" for argument in self.arguments]
            parts += [f"`{field.name}` {field.type}" for field in self.children]
            text = f"{self.name}<{', '.join(parts)}>"
        elif self.children:
            text = f"{self.name}<{', '.join(str(field.type) for field in self.children)}>"
        elif self.name == "INTERVAL":
            text = f"INTERVAL {self.qualifier}"
        elif self.name == "USER":
            text = ".".join(f"`{part}`" for part in self.arguments)
        elif self.arguments:
            inner = ", ".join(
                f"'{argument}'" if isinstance(argument, str) else str(argument) for argument in self.arguments
            )
            text = f"{self.name}({inner})"
        else:
            text = self.name
        return text + {None: "", True: " NULL", False: " NOT NULL"}[self.nullable]
