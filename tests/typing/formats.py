"""What type checkers know of formats; see fluent_api.py."""

from __future__ import annotations

from typing import Any, assert_type

import msgspec

from penstock.formats import (
    ByteArraySchema,
    JsonDeserializationSchema,
    JsonRowDeserializationSchema,
    SimpleStringSchema,
)
from penstock.row import Row
from penstock.types import Types


class View(msgspec.Struct):
    ad: str


def schemas() -> None:
    """What comes out of a schema is known."""
    views = JsonDeserializationSchema(View)
    assert_type(views, JsonDeserializationSchema[View])
    assert_type(views.decode([b'{"ad": "a"}']), list[View | None])
    assert_type(JsonDeserializationSchema(), JsonDeserializationSchema[Any])
    assert_type(SimpleStringSchema().deserialize(b"a"), str)
    assert_type(ByteArraySchema().deserialize(b"a"), bytes)
    rows = JsonRowDeserializationSchema.builder().type_info(Types.ROW([Types.INT()])).build()
    assert_type(rows.deserialize(b"{}"), Row | None)
