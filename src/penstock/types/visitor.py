"""The visitor over types: one method for each kind of type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from penstock.types.basic import BasicTypeInfo
    from penstock.types.collection import BytesTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo, SequenceTypeInfo
    from penstock.types.fields import RowTypeInfo, TupleTypeInfo
    from penstock.types.information import TypeInformation
    from penstock.types.python import ClassTypeInfo, PythonTypeInfo, ScalarTypeInfo
    from penstock.types.temporal import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo

R_co = TypeVar("R_co", covariant=True)


class TypeVisitor(ABC, Generic[R_co]):
    """Computes something for a type, such as its column or its text form, with one method for each kind of type.

    Visit a type once per schema and keep the result, never once per value. A new kind of type is a class with `accept` and a
    new abstract method here. mypy then reports every visitor that does not handle it.
    """

    def visit(self, type_info: TypeInformation) -> R_co:
        return type_info.accept(self)

    @abstractmethod
    def visit_basic(self, type_info: BasicTypeInfo) -> R_co:
        """Text, numbers and Booleans. INSTANT has its own method."""

    @abstractmethod
    def visit_instant(self, type_info: BasicTypeInfo) -> R_co: ...
    @abstractmethod
    def visit_date(self, type_info: DateTypeInfo) -> R_co: ...
    @abstractmethod
    def visit_time(self, type_info: TimeTypeInfo) -> R_co: ...
    @abstractmethod
    def visit_timestamp(self, type_info: TimestampTypeInfo) -> R_co: ...
    @abstractmethod
    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> R_co:
        """BYTES and PRIMITIVE_ARRAY<BYTE>, whose values are bytes objects."""

    @abstractmethod
    def visit_list(self, type_info: SequenceTypeInfo) -> R_co:
        """Lists and arrays, except arrays of BYTE."""

    @abstractmethod
    def visit_map(self, type_info: MapTypeInfo) -> R_co: ...
    @abstractmethod
    def visit_tuple(self, type_info: TupleTypeInfo) -> R_co: ...
    @abstractmethod
    def visit_row(self, type_info: RowTypeInfo) -> R_co: ...
    @abstractmethod
    def visit_scalar(self, type_info: ScalarTypeInfo) -> R_co:
        """A single value inside a Python annotation, such as int or datetime.date."""

    @abstractmethod
    def visit_class(self, type_info: ClassTypeInfo) -> R_co:
        """A dataclass, a msgspec Struct or a NamedTuple inside a Python annotation."""

    @abstractmethod
    def visit_opaque(self, type_info: TypeInformation) -> R_co:
        """A type of unknown structure, whose values are pickled."""

    def visit_python(self, type_info: PythonTypeInfo) -> R_co:
        """A Python annotation. By default, the visitor continues with its structure."""
        return self.visit_opaque(type_info) if type_info.shape is None else self.visit(type_info.shape)


class DefaultTypeVisitor(TypeVisitor[R_co]):
    """A visitor that treats all kinds of types alike, except those whose methods a subclass overrides."""

    @abstractmethod
    def visit_default(self, type_info: TypeInformation) -> R_co: ...

    def visit_basic(self, type_info: BasicTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_instant(self, type_info: BasicTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_date(self, type_info: DateTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_time(self, type_info: TimeTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_list(self, type_info: SequenceTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_map(self, type_info: MapTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_tuple(self, type_info: TupleTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_row(self, type_info: RowTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_scalar(self, type_info: ScalarTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_class(self, type_info: ClassTypeInfo) -> R_co:
        return self.visit_default(type_info)

    def visit_opaque(self, type_info: TypeInformation) -> R_co:
        return self.visit_default(type_info)

    def visit_python(self, type_info: PythonTypeInfo) -> R_co:
        return self.visit_default(type_info)
