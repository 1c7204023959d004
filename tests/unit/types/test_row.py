"""Rows as in PyFlink."""

from __future__ import annotations

import pickle

import pytest

import penstock as ps
from penstock import Row, RowKind


def test_a_row_by_name() -> None:
    row = Row(name="Ada", age=36)
    assert row.name == row["name"] == row[0] == "Ada"
    assert row[0:2] == ["Ada", 36]
    assert list(row) == ["Ada", 36]
    assert len(row) == 2
    assert "age" in row
    assert "Ada" not in row
    assert repr(row) == "Row(name='Ada', age=36)"
    assert row.as_dict() == {"name": "Ada", "age": 36}


def test_a_row_by_position() -> None:
    row = Row("Ada", 36)
    assert "Ada" in row
    assert repr(row) == "<Row('Ada', 36)>"
    with pytest.raises(TypeError):
        row.as_dict()
    with pytest.raises(KeyError):
        row["name"]
    with pytest.raises(AttributeError):
        row.name  # noqa: B018
    row.set_field_names(["name", "age"])
    assert row.age == 36


def test_a_row_makes_rows() -> None:
    person = Row("name", "age")
    assert person("Ada", 36) == Row(name="Ada", age=36)
    with pytest.raises(ValueError, match="2 fields"):
        person(1, 2, 3)


def test_values_are_positional_or_named() -> None:
    with pytest.raises(ValueError, match="positional and named"):
        Row(1, a=2)


def test_fields_are_set_by_index_and_not_by_attribute() -> None:
    row = Row(a=1, b=2)
    row["a"] = 10
    row[1] = 20
    assert row.as_dict() == {"a": 10, "b": 20}
    with pytest.raises(AttributeError):
        row.a = 5  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="c"):
        row["c"] = 1


def test_kinds() -> None:
    row = Row(a=1)
    assert row.get_row_kind() is RowKind.INSERT
    row.set_row_kind(RowKind.DELETE)
    assert row != Row(a=1)
    assert row == Row.of_kind(RowKind.DELETE, a=1)
    assert [str(k) for k in RowKind] == ["+I", "-U", "+U", "-D"]
    assert Row.of_kind(RowKind.UPDATE_AFTER, 1)[0] == 1


def test_equal_rows_have_one_hash_whatever_the_order_of_their_fields() -> None:
    one, other = Row(a=1, b=2), Row(b=2, a=1)
    assert one == other
    assert hash(one) == hash(other)
    assert one != Row(1, 2)
    assert Row(1, 2) == Row(1, 2)
    assert one != Row(a=1, c=2)
    assert one != (1, 2)


def test_by_names() -> None:
    row = Row(a=1, b=2)
    assert row.get_fields_by_names(["b", "a"]) == [2, 1]
    assert Row(1, 2).get_fields_by_names(["x", "y"]) == [1, 2]
    with pytest.raises(ValueError, match="c"):
        row.get_fields_by_names(["c"])


def test_nested_rows_as_dicts() -> None:
    row = Row(key=1, value=[Row(a=1)], more={"x": Row(b=2)})
    assert row.as_dict()["value"] == [Row(a=1)]
    assert row.as_dict(True) == {"key": 1, "value": [{"a": 1}], "more": {"x": {"b": 2}}}


def test_rows_are_pickled_with_names_and_kind() -> None:
    row = Row.of_kind(RowKind.UPDATE_BEFORE, a=1)
    again = pickle.loads(pickle.dumps(row))
    assert again == row
    assert again.a == 1
    assert pickle.loads(pickle.dumps(Row(1))) == Row(1)


def test_exported() -> None:
    assert ps.Row is Row
    assert ps.RowKind is RowKind
