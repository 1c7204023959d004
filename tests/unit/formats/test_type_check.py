"""Fields of rows with other names are matched by position, as in Flink."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import UserFunctionError
from penstock.formats import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    CsvRowSerializationSchema,
    JsonRowSerializationSchema,
)
from penstock.row import Row
from penstock.types import Types

KIND = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
AVRO = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]}'
ELEMENTS: list[Any] = [Row(f0=1, f1="hi"), Row(1, "hi"), (1, "hi"), Row(name="hi", id=1), {"id": 1, "name": "hi"}]


@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_fields_by_position_and_by_name(element: Any) -> None:
    assert JsonRowSerializationSchema(KIND).encode([element]) == [b'{"id":1,"name":"hi"}']
    assert CsvRowSerializationSchema(KIND).encode([element]) == [b"1,hi\n"]
    message = AvroRowSerializationSchema(avro_schema_string=AVRO).encode([element])
    assert AvroRowDeserializationSchema(avro_schema_string=AVRO).decode(message) == [Row(id=1, name="hi")]


@pytest.mark.parametrize("element", [Row(f0=1), (1, "hi", 2), "hi", None], ids=repr)
def test_elements_of_another_type(element: Any) -> None:
    with pytest.raises(UserFunctionError, match="ELEMENT_TYPE"):
        JsonRowSerializationSchema(KIND).encode([element])
