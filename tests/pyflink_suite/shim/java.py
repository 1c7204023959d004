"""What stands where PyFlink's tests reach for the JVM.

Most of it raises JvmInternal: such a test looks into Java objects and says nothing about a system without Flink's JVM. It is a
BaseException, so that `assertRaises(Exception)` does not take it for the error that a test waits for.

A few Java *test helpers* (a collecting sink, a per-element watermark generator, a map that checks its subtask, Avro's and
Parquet's writers that make a test's input) and plain carriers of data (Row, ArrayList, HashMap) have stand-ins in Python, so
that what the test is really about (penstock's side) is still tested. USED holds those that a test has touched.
"""

from __future__ import annotations

import json
from typing import Any

USED: list[str] = []


class JvmInternal(BaseException):
    """The test asks for something that only Flink's JVM has."""


def jvm_only(what: str) -> Any:
    raise JvmInternal(what)


# -- configuration


class JOption:
    def __init__(self, key: str) -> None:
        self._key = key

    def key(self) -> str:
        return self._key


class JConfiguration:
    """Flink's Java configuration of an environment, as a view of a `Configuration`."""

    def __init__(self, configuration: Any) -> None:
        self.configuration = configuration

    def getString(self, key: str, default: Any = None) -> Any:
        return self.configuration.get_string(key, default)

    def setString(self, key: str, value: str) -> None:
        self.configuration.set_string(key, value)

    def getValue(self, option: JOption) -> Any:
        USED.append("Configuration.getValue")
        return self.configuration.get_string(option.key(), None)

    def removeKey(self, key: str) -> bool:
        return bool(self.configuration.remove_config(key))

    def __getattr__(self, name: str) -> Any:
        jvm_only(f"Configuration.{name}")


class JEnvironment:
    """Flink's Java environment behind PyFlink's."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def getConfiguration(self) -> JConfiguration:
        return JConfiguration(self.env.configuration)

    def fromCollection(self, elements: Any, kind: Any) -> JStream:
        USED.append("StreamExecutionEnvironment.fromCollection")
        return JStream(self.env.from_collection(list(elements), kind))

    def getCachedFiles(self) -> JList:
        USED.append("StreamExecutionEnvironment.getCachedFiles")
        return JList(_pair(name, path) for name, path in self.env.cached_files.items())

    def getStreamGraph(self, clear: bool) -> JStreamGraph:
        return JStreamGraph(self.env)

    def __getattr__(self, name: str) -> Any:
        jvm_only(f"StreamExecutionEnvironment.{name}")


class JStreamGraph:
    """Only the slot sharing groups of an environment."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def getSlotSharingGroupResource(self, name: str) -> JOptional:
        USED.append("StreamGraph.getSlotSharingGroupResource")
        group = self.env.slot_sharing_groups[name]
        return JOptional(JResources(group) if group.requests_resources() else None)

    def __getattr__(self, name: str) -> Any:
        jvm_only(f"StreamGraph.{name}")


class JOptional:
    def __init__(self, value: Any) -> None:
        self.value = value

    def isPresent(self) -> bool:
        return self.value is not None

    def get(self) -> Any:
        return self.value


class JResources:
    def __init__(self, group: Any) -> None:
        self.group = group

    def getCpuCores(self) -> Any:
        return _Named(getValue=self.group.get_cpu_cores)

    def getTaskHeapMemory(self) -> Any:
        return self.group.get_task_heap_memory()


# -- streams


class JStream:
    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def map(self, function: Any) -> JStream:
        return JStream(self.stream.map(function))

    def __getattr__(self, name: str) -> Any:
        jvm_only(f"DataStream.{name}")


class JStrategy:
    """WatermarkStrategy.forGenerator(PerElementWatermarkGenerator.getSupplier())"""

    def __init__(self, supplier: Any) -> None:
        self.supplier = supplier


# -- data


class JRow:
    """org.apache.flink.types.Row by position."""

    def __init__(self, size: int) -> None:
        USED.append("Row")
        self.values: list[Any] = [None] * size

    def setField(self, place: int, value: Any) -> None:
        self.values[place] = value

    def getField(self, place: int) -> Any:
        return self.values[place]

    def equals(self, other: Any) -> bool:
        return isinstance(other, JRow) and plain(self) == plain(other)


def _pair(first: Any, second: Any) -> JRow:
    pair = JRow(2)
    pair.values = [first, second]
    return pair


class JList(list):  # type: ignore[type-arg]
    def add(self, value: Any) -> bool:
        self.append(value)
        return True

    def size(self) -> int:
        return len(self)

    def get(self, place: int) -> Any:
        return self[place]


class JMap(dict):  # type: ignore[type-arg]
    def put(self, key: Any, value: Any) -> None:
        self[key] = value


def plain(value: Any) -> Any:
    """Python's value of a stand-in."""
    from penstock import Row

    if isinstance(value, JRow):
        return Row(*[plain(v) for v in value.values])
    return value


def jrow(value: Any) -> Any:
    from penstock import Row

    if isinstance(value, Row):
        made = JRow(len(value))
        made.values = [jrow(v) for v in value]
        return made
    return value


class JSchema:
    """The Java schema of a schema: calls Penstock's methods with Java's rows."""

    def __init__(self, schema: Any) -> None:
        USED.append(type(schema).__name__)
        self.schema = schema

    def open(self, context: Any) -> None:
        """Nothing to do."""

    def serialize(self, element: Any) -> bytes:
        return bytes(self.schema.serialize(plain(element)))

    def deserialize(self, message: bytes) -> Any:
        return jrow(self.schema.deserialize(bytes(message)))

    def __getattr__(self, name: str) -> Any:
        jvm_only(f"{type(self.schema).__name__}.{name} of the Java object")


# -- Avro's and Parquet's Java classes, which make the input of some tests


class JAvroSchema:
    def __init__(self, parsed: Any) -> None:
        self.parsed = parsed

    def getField(self, name: str) -> _JAvroField:
        return _JAvroField(next(f for f in self.parsed["fields"] if f["name"] == name))

    def getElementType(self) -> JAvroSchema:
        return JAvroSchema(self.parsed["items"])


class _JAvroField:
    def __init__(self, field: Any) -> None:
        self.field = field

    def schema(self) -> JAvroSchema:
        return JAvroSchema(self.field["type"])


class JAvroRecord:
    def __init__(self, schema: JAvroSchema) -> None:
        USED.append("GenericData.Record")
        self.fields = {f["name"]: None for f in schema.parsed["fields"]}

    def put(self, name: str, value: Any) -> None:
        self.fields[name] = value


def avro_value(value: Any) -> Any:
    if isinstance(value, JAvroRecord):
        return {k: avro_value(v) for k, v in value.fields.items()}
    if isinstance(value, JList):
        return [avro_value(v) for v in value]
    if isinstance(value, JMap):
        return {k: avro_value(v) for k, v in value.items()}
    return value


class JAvroFileWriter:
    def __init__(self, datum_writer: Any) -> None:
        self.records: list[Any] = []

    def create(self, schema: JAvroSchema, file: str) -> None:
        self.schema, self.file = schema, file

    def append(self, record: Any) -> None:
        self.records.append(avro_value(record))

    def close(self) -> None:
        import fastavro

        with open(self.file, "wb") as out:
            fastavro.writer(out, fastavro.parse_schema(self.schema.parsed), self.records)


class JPath_:
    """org.apache.flink.core.fs.Path: a file to be written."""

    def __init__(self, path: str) -> None:
        self.path = path

    def getFileSystem(self) -> JPath_:
        return self

    def create(self, path: JPath_, mode: Any) -> str:
        return path.path


class JParquetWriters:
    @staticmethod
    def forGenericRecord(schema: JAvroSchema) -> JParquetWriters:
        made = JParquetWriters()
        made.schema = schema  # type: ignore[attr-defined]
        return made

    def create(self, path: str) -> JParquetWriter:
        return JParquetWriter(self.schema, path)  # type: ignore[attr-defined]


class JParquetWriter:
    """As parquet-avro lays out records: null fields have no column, a union of several types is a group member0, member1."""

    def __init__(self, schema: JAvroSchema, path: str) -> None:
        self.schema, self.path = schema.parsed, path
        self.records: list[Any] = []

    def addElement(self, record: Any) -> None:
        self.records.append(avro_value(record))

    def flush(self) -> None:
        """Nothing to do."""

    def finish(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        kind = _arrow(self.schema)
        rows = [_parquet(self.schema, r) for r in self.records]
        pq.write_table(pa.Table.from_struct_array(pa.array(rows, kind)), self.path)


_ARROW = {
    "boolean": "bool_",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "string": "string",
}


def _arrow(schema: Any) -> Any:
    import pyarrow as pa

    if isinstance(schema, list):
        several = [s for s in schema if s != "null"]
        if len(several) == 1:
            return _arrow(several[0])
        return pa.struct([(f"member{n}", _arrow(s)) for n, s in enumerate(several)])
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "record":
        return pa.struct([(f["name"], _arrow(f["type"])) for f in schema["fields"] if f["type"] != "null"])
    if kind == "array":
        return pa.list_(_arrow(schema["items"]))
    if kind == "map":
        return pa.map_(pa.string(), _arrow(schema["values"]))
    if kind == "enum":
        return pa.string()
    return getattr(pa, _ARROW[kind])()


def _parquet(schema: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(schema, list):
        several = [s for s in schema if s != "null"]
        if len(several) == 1:
            return _parquet(several[0], value)
        at = next(n for n, s in enumerate(several) if (s in ("int", "long")) == isinstance(value, int))
        return {f"member{n}": (value if n == at else None) for n in range(len(several))}
    if isinstance(schema, dict) and schema["type"] == "record":
        return {f["name"]: _parquet(f["type"], value[f["name"]]) for f in schema["fields"] if f["type"] != "null"}
    if isinstance(schema, dict) and schema["type"] == "array":
        return [_parquet(schema["items"], v) for v in value]
    if isinstance(schema, dict) and schema["type"] == "map":
        return list(value.items())
    return value


class JDataType:
    """The Java type of a data type of the Table API."""

    def __init__(self, data_type: Any) -> None:
        self.data_type = data_type

    def getLogicalType(self) -> Any:
        return self.data_type


class JRowConverter:
    """RowRowConverter: rows need no conversion here."""

    def open(self, class_loader: Any) -> None:
        """Nothing to do."""

    def getClass(self) -> Any:
        return _Named(getClassLoader=lambda: None)

    def toInternal(self, row: Any) -> Any:
        return row


class JRowWriter:
    """ParquetRowDataBuilder: writes rows as Flink does, with timestamps as INT96 without a time zone."""

    def __init__(self, row_type: Any, path: str) -> None:
        self.row_type, self.path = row_type.type_info, path
        self.rows: list[Any] = []

    def addElement(self, row: Any) -> None:
        self.rows.append(row)

    def finish(self) -> None:
        import pyarrow.parquet as pq

        from penstock.formats.arrow.rows import ArrowRows

        batch = ArrowRows(self.row_type).batch(self.rows)
        writer = pq.ParquetWriter(self.path, batch.schema, use_deprecated_int96_timestamps=True)
        writer.write_batch(batch)
        writer.close()


def _row_writers(row_type: Any, hadoop: Any, utc: bool) -> Any:
    return _Named(create=lambda path: JRowWriter(row_type, path))


# -- the way there


class _Named:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def _partition_check() -> Any:
    from tests.pyflink_suite.shim.java_functions import PartitionCustomTestMapFunction

    return PartitionCustomTestMapFunction


def _per_element() -> Any:
    from tests.pyflink_suite.shim.java_functions import PerElementWatermarkGenerator

    return PerElementWatermarkGenerator


_FLINK = "org.apache.flink."
_AVRO = _FLINK + "avro.shaded.org.apache.avro."
STAND_INS: dict[str, Any] = {
    # constants, as Flink's Java sources have them
    _FLINK + "api.common.ExecutionConfig": lambda: _Named(PARALLELISM_DEFAULT=-1, PARALLELISM_UNKNOWN=-2),
    _FLINK + "runtime.state.storage.JobManagerCheckpointStorage": lambda: _Named(
        DEFAULT_MAX_STATE_SIZE=5 * 1024 * 1024
    ),
    _FLINK + "configuration.ExecutionOptions.RUNTIME_MODE": lambda: JOption("execution.runtime-mode"),
    _FLINK + "configuration.PipelineOptions.JARS": lambda: JOption("pipeline.jars"),
    _FLINK + "configuration.PipelineOptions.CLASSPATHS": lambda: JOption("pipeline.classpaths"),
    _FLINK + "python.util.PythonConfigUtil.getEnvironmentConfig": lambda: JEnvironment.getConfiguration,
    # Flink's own test helpers
    _FLINK + "python.util.PartitionCustomTestMapFunction": _partition_check,
    _FLINK + "api.common.eventtime.WatermarkStrategy.forGenerator": lambda: JStrategy,
    _FLINK + "streaming.api.functions.python.eventtime.PerElementWatermarkGenerator.getSupplier": lambda: _per_element,
    _FLINK + "connector.testutils.formats.DummyInitializationContext": lambda: object,
    # carriers of data
    _FLINK + "types.Row": lambda: JRow,
    "java.util.ArrayList": lambda: JList,
    "java.util.HashMap": lambda: JMap,
    "java.io.File": lambda: str,
    "GenericData.Record": lambda: JAvroRecord,
    "GenericData.EnumSymbol": lambda: lambda schema, value: value,
    # what makes the input files of tests
    _AVRO + "generic.GenericDatumWriter": lambda: object,
    _AVRO + "file.DataFileWriter": lambda: JAvroFileWriter,
    _FLINK + "core.fs.Path": lambda: JPath_,
    _FLINK + "core.fs.FileSystem.WriteMode.OVERWRITE": lambda: "OVERWRITE",
    _FLINK + "formats.parquet.avro.AvroParquetWriters": lambda: JParquetWriters,
    _FLINK + "core.fs.local.LocalDataOutputStream": lambda: str,
    _FLINK + "formats.parquet.row.ParquetRowDataBuilder.createWriterFactory": lambda: _row_writers,
    _FLINK + "table.data.conversion.RowRowConverter.create": lambda: lambda data_type: JRowConverter(),
}


class JPath:
    """A name in the JVM: packages and classes by attribute; anything that is no stand-in cannot be called."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self._name}.{name}" if self._name else name
        if full in STAND_INS:
            USED.append(full)
            return STAND_INS[full]()
        return JPath(full)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        jvm_only(self._name)


class _Client:
    def send_command(self, command: str, *args: Any) -> str:
        return "yv"  # py4j's word for done: `java_import` only defines a short name of a class


class _Jvm(JPath):
    _gateway_client = _Client()
    _id = "rj"


class _Gateway:
    jvm = _Jvm()

    def __getattr__(self, name: str) -> Any:
        jvm_only(f"gateway.{name}")


GATEWAY = _Gateway()


def schema_json(text: str) -> Any:
    return json.loads(text)
