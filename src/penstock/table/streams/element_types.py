"""The columns of a stream: the logical types of its elements."""

from __future__ import annotations

import datetime
import decimal

from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.collection import BytesTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo, SequenceTypeInfo
from penstock.types.decimal_type import DecimalTypeInfo
from penstock.types.fields import FieldsTypeInfo, RowTypeInfo, TupleTypeInfo
from penstock.types.information import TypeInformation
from penstock.types.logical.kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    BinaryType,
    CharType,
    DecimalType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    RawType,
    RowType,
    TimestampType,
    TimeType,
)
from penstock.types.python import ClassTypeInfo, PythonTypeInfo, ScalarTypeInfo
from penstock.types.temporal import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo
from penstock.types.visitor import TypeVisitor

_BASIC: dict[BasicType, LogicalType] = {
    BasicType.STRING: STRING,
    BasicType.CHAR: CharType(1, varying=False),
    BasicType.BOOLEAN: BOOLEAN,
    BasicType.BYTE: IntegerType(8),
    BasicType.SHORT: IntegerType(16),
    BasicType.INT: INT,
    BasicType.LONG: BIGINT,
    BasicType.FLOAT: FloatType(32),
    BasicType.DOUBLE: DOUBLE,
    BasicType.BIG_INT: DecimalType(38, 0),
    BasicType.BIG_DEC: DecimalType(38, 18),
}
_SCALARS: dict[type, LogicalType] = {
    str: STRING,
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    bytes: BinaryType(),
    decimal.Decimal: DecimalType(38, 18),
    datetime.date: DATE,
    datetime.time: TimeType(0),
    datetime.datetime: TimestampType(6),
}


class _LogicalTypes(TypeVisitor[LogicalType]):
    def visit_basic(self, type_info: BasicTypeInfo) -> LogicalType:
        if isinstance(type_info, DecimalTypeInfo):
            return DecimalType(type_info.precision, type_info.scale)
        return _BASIC[type_info.basic_type]

    def visit_instant(self, type_info: BasicTypeInfo) -> LogicalType:
        return TimestampType(9, local=True)

    def visit_date(self, type_info: DateTypeInfo) -> LogicalType:
        return DATE

    def visit_time(self, type_info: TimeTypeInfo) -> LogicalType:
        return TimeType(0)

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> LogicalType:
        return TimestampType(9)

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> LogicalType:
        return BinaryType()

    def visit_list(self, type_info: SequenceTypeInfo) -> LogicalType:
        return ArrayType(self.visit(type_info.element_type))

    def visit_map(self, type_info: MapTypeInfo) -> LogicalType:
        return MapType(self.visit(type_info.key_type), self.visit(type_info.value_type))

    def _fields(self, type_info: FieldsTypeInfo) -> LogicalType:
        pairs = zip(type_info.get_field_names(), type_info.field_types, strict=True)
        return RowType(tuple(Field(name, self.visit(t)) for name, t in pairs))

    def visit_tuple(self, type_info: TupleTypeInfo) -> LogicalType:
        return RowType(tuple(Field(f"f{i}", self.visit(t)) for i, t in enumerate(type_info.field_types)))

    def visit_row(self, type_info: RowTypeInfo) -> LogicalType:
        return self._fields(type_info)

    def visit_scalar(self, type_info: ScalarTypeInfo) -> LogicalType:
        return _SCALARS.get(type_info.python_class, RawType(class_name=type_info.python_class.__name__))

    def visit_class(self, type_info: ClassTypeInfo) -> LogicalType:
        return self._fields(type_info)

    def visit_opaque(self, type_info: TypeInformation) -> LogicalType:
        return RawType(class_name=type_info.name)

    def visit_python(self, type_info: PythonTypeInfo) -> LogicalType:
        return super().visit_python(type_info)


def logical_type(type_info: TypeInformation) -> LogicalType:
    """Returns the logical type of the elements of a stream.

    >>> from penstock.types import Types
    >>> print(logical_type(Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])))
    ROW<`name` STRING, `age` INT>
    """
    return _LogicalTypes().visit(type_info)


def columns_of_elements(type_info: TypeInformation) -> tuple[Field, ...]:
    """Returns the columns of a stream: the fields of its elements, or one column f0.

    >>> from penstock.types import Types
    >>> [str(field.type) for field in columns_of_elements(Types.TUPLE([Types.STRING(), Types.LONG()]))]
    ['STRING', 'BIGINT']
    """
    found = logical_type(type_info)
    return found.fields if isinstance(found, RowType) else (Field("f0", found),)
