"""The parameters and attributes of PyFlink's classes that are Java objects, on Penstock's classes."""

from __future__ import annotations

import operator
from typing import Any

from tests.pyflink_suite.shim import java


def set_java_sides() -> None:
    """Adds them to the classes."""
    import penstock as ps
    from penstock.connectors import Sink, Source, kafka
    from penstock.datastream import MemorySize
    from penstock.datastream.streams.data_stream import DataStream
    from penstock.formats.avro.schema import AvroSchema
    from penstock.formats.schema import DeserializationSchema, SerializationSchema
    from penstock.time import WatermarkStrategy
    from penstock.types import TypeInformation

    env = ps.StreamExecutionEnvironment
    env._j_stream_execution_environment = property(java.JEnvironment)  # type: ignore[attr-defined]

    made = ps.Configuration.__init__

    def configuration(self: Any, other: Any = None, j_configuration: Any = None) -> None:
        made(self, other)
        if j_configuration is not None:
            self._values, self._others = j_configuration.configuration._values, j_configuration.configuration._others

    ps.Configuration.__init__ = configuration  # type: ignore[method-assign]

    memory = MemorySize.__init__

    def memory_size(self: Any, bytes_size: Any = None, j_memory_size: Any = None) -> None:
        memory(self, bytes_size if j_memory_size is None else j_memory_size.get_bytes())

    MemorySize.__init__ = memory_size  # type: ignore[method-assign]

    stream = DataStream.__init__

    def data_stream(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) == 1 and isinstance(args[0], java.JStream):
            args = (args[0].stream._env, args[0].stream._node)
        stream(self, *args, **kwargs)

    DataStream.__init__ = data_stream  # type: ignore[method-assign]
    DataStream._j_data_stream = property(java.JStream)  # type: ignore[attr-defined]

    strategy = WatermarkStrategy.__init__

    def watermark_strategy(self: Any, kind: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(kind, java.JStrategy):
            strategy(self, "custom", generator=kind.supplier)
        else:
            strategy(self, kind, *args, **kwargs)

    WatermarkStrategy.__init__ = watermark_strategy  # type: ignore[method-assign]
    WatermarkStrategy._j_watermark_strategy = property(lambda self: java.jvm_only("WatermarkStrategy"))  # type: ignore[attr-defined]

    SerializationSchema._j_serialization_schema = property(java.JSchema)  # type: ignore[attr-defined]
    DeserializationSchema._j_deserialization_schema = property(java.JSchema)  # type: ignore[attr-defined]
    TypeInformation.get_java_type_info = lambda self: self  # type: ignore[attr-defined]

    schema = AvroSchema.__init__

    def avro_schema(self: Any, text: Any) -> None:
        import json

        schema(self, json.dumps(text.parsed) if isinstance(text, java.JAvroSchema) else text)

    AvroSchema.__init__ = avro_schema  # type: ignore[method-assign]
    AvroSchema._j_schema = property(lambda self: java.JAvroSchema(java.schema_json(self.text)))  # type: ignore[attr-defined]
    for kind in (Source, Sink, kafka.FlinkKafkaConsumer, kafka.FlinkKafkaProducer):
        kind.get_java_function = lambda self: java.jvm_only(f"{type(self).__name__}.get_java_function")  # type: ignore[union-attr]
    record: Any = kafka.KafkaRecordSerializationSchema
    record._j_serialization_schema = property(lambda self: java.jvm_only("KafkaRecordSerializationSchema"))
    _set_java_sides_of_tables()


def _set_java_sides_of_tables() -> None:
    from penstock.table.api.table import Table
    from penstock.table.environment.environment import TableEnvironment
    from penstock.table.expressions.expression import Expression
    from penstock.table.user_functions.function import UserDefinedFunctionWrapper

    for kind, name in ((Table, "_j_table"), (TableEnvironment, "_j_tenv"), (Expression, "_j_expr")):
        setattr(kind, name, _java_only(name))
    for name in dir(TableEnvironment):
        if name.startswith("create_java"):
            setattr(TableEnvironment, name, _java_only(name))
    for name in ("name", "deterministic"):  # private attributes of PyFlink's wrappers
        setattr(UserDefinedFunctionWrapper, f"_{name}", property(operator.attrgetter(name)))


def _java_only(name: str) -> property:
    def get(self: Any) -> Any:
        java.jvm_only(name)

    return property(get, lambda self, value: None)
