"""Functions by name: create_temporary_function, CREATE FUNCTION, and what comes before what."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError, SqlValidationError, UnsupportedOperation
from penstock.table import TableEnvironment
from penstock.table.udf import udf
from tests.unit.table.user_functions.conftest import Query
from tests.unit.table.user_functions.library import plain, twice

LIBRARY = "tests.unit.table.user_functions.library"


def constant(value: int) -> object:
    return udf(lambda: value, result_type="INT")


@pytest.mark.parametrize("kind", ["", "TEMPORARY", "TEMPORARY SYSTEM"])
@pytest.mark.parametrize("separator", [".", ":"])
def test_create_function(query: Query, env: TableEnvironment, kind: str, separator: str) -> None:
    env.execute_sql(f"CREATE {kind} FUNCTION f AS '{LIBRARY}{separator}twice' LANGUAGE PYTHON")
    assert query("SELECT f(id) FROM t") == [(2,), (4,), (6,)]
    assert "f" in env.list_user_defined_functions()
    env.execute_sql(f"DROP {kind} FUNCTION f")
    with pytest.raises(SqlValidationError, match="There is no function f"):
        query("SELECT f(id) FROM t")


def test_objects_of_modules(query: Query, env: TableEnvironment) -> None:
    env.execute_sql(f"CREATE FUNCTION f AS '{LIBRARY}.prefixed' LANGUAGE PYTHON")
    env.execute_sql(f"CREATE FUNCTION w AS '{LIBRARY}.words' LANGUAGE PYTHON")
    assert query("SELECT f(word) FROM t, LATERAL TABLE(w(s))") == [(">a",), (">b",), (">B",)]


def test_alter_function(query: Query, env: TableEnvironment) -> None:
    env.execute_sql(f"CREATE FUNCTION f AS '{LIBRARY}.twice' LANGUAGE PYTHON")
    env.execute_sql(f"ALTER FUNCTION f AS '{LIBRARY}.exclaimed' LANGUAGE PYTHON")
    assert query("SELECT f(id) FROM t WHERE id = 1") == [("1!",)]


def test_show_and_describe(query: Query, env: TableEnvironment) -> None:
    env.create_temporary_function("f", twice)
    env.create_temporary_system_function("g", twice)
    assert query("SHOW USER FUNCTIONS") == [("f",), ("g",)]
    assert dict(query("DESCRIBE FUNCTION f")) == {
        "is system function": "false",
        "is temporary": "true",
        "class name": f"{LIBRARY}.twice",
        "function language": "PYTHON",
    }
    typed = udf(lambda x: x, input_types=["INT", "STRING"], result_type="INT", deterministic=False)
    env.create_temporary_system_function("h", typed)
    assert ("signature", "h(arg0 => INT, arg1 => STRING)") in query("DESCRIBE FUNCTION EXTENDED h")
    assert dict(query("DESCRIBE FUNCTION EXTENDED g")) == {
        "is system function": "true",
        "is temporary": "true",
        "kind": "SCALAR",
        "requirements": "[]",
        "is deterministic": "true",
        "supports constant folding": "false",
        "signature": "g(*)",
    }


def test_which_function_comes_first(query: Query, env: TableEnvironment) -> None:
    env.create_temporary_function("reverse", constant(1))
    assert query("SELECT reverse('ab')") == [("ba",)]  # a built-in function comes before that of a database
    assert query("SELECT default_database.reverse()") == [(1,)]
    env.create_temporary_system_function("reverse", constant(2))
    assert query("SELECT reverse()") == [(2,)]
    env.execute_sql(f"CREATE FUNCTION f AS '{LIBRARY}.twice' LANGUAGE PYTHON")
    env.create_temporary_function("f", constant(3))
    assert query("SELECT f()") == [(3,)]
    env.create_temporary_system_function("f", constant(4))
    assert query("SELECT f()") == [(4,)]


def test_drop(env: TableEnvironment) -> None:
    env.create_temporary_function("f", twice)
    env.create_temporary_system_function("g", twice)
    assert env.drop_temporary_function("f")
    assert not env.drop_temporary_function("f")
    assert env.drop_temporary_system_function("g")
    assert env.list_user_defined_functions() == []


def test_a_name_that_is_taken(env: TableEnvironment) -> None:
    env.create_temporary_function("f", twice)
    with pytest.raises(PenstockError, match="exists already"):
        env.create_temporary_function("f", twice)


@pytest.mark.parametrize(
    ("implementation", "words"),
    [
        ("nowhere.f", "there is no module 'nowhere'"),
        (f"{LIBRARY}.nothing", f"'{LIBRARY}' has no 'nothing'"),
        (f"{LIBRARY}.plain", "plain has no result type"),
        ("f", "Write 'module.function'"),
    ],
)
def test_wrong_implementations(env: TableEnvironment, implementation: str, words: str) -> None:
    env.execute_sql(f"CREATE FUNCTION f AS '{implementation}' LANGUAGE PYTHON")
    with pytest.raises(SqlValidationError) as raised:
        env.explain_sql("SELECT id,\n  f(id) FROM t")
    assert words in str(raised.value)
    assert (raised.value.line, raised.value.column) == (2, 3)


def test_functions_without_a_type(env: TableEnvironment) -> None:
    with pytest.raises(TypeError, match="plain has no result type"):
        env.create_temporary_function("f", plain)


def test_java_functions(env: TableEnvironment) -> None:
    for create in (
        env.create_java_function,
        env.create_java_temporary_function,
        env.create_java_temporary_system_function,
    ):
        with pytest.raises(UnsupportedOperation, match=r"JAVA_FUNCTION.*written in Python"):
            create("f", "com.example.F")
    with pytest.raises(UnsupportedOperation, match="LANGUAGE PYTHON"):
        env.execute_sql("CREATE FUNCTION f AS 'com.example.F' LANGUAGE JAVA")


def test_a_system_function_replaces_a_built_in_one_of_the_table_api(query: Query, env: TableEnvironment) -> None:
    env.create_temporary_system_function("PLUS", udf(lambda a, b: a + b - 1, result_type="BIGINT"))
    env.create_temporary_function("times", udf(lambda a, b: 0, result_type="BIGINT"))  # only system functions do it
    table = env.from_elements([(3, 4)], ["a", "b"])
    rows = table.select(table.a + table.b, (table.a + 1) + table.b, table.a * 2).execute().collect()
    assert [tuple(row) for row in rows] == [(6, 6, 6)]
    assert query("SELECT 1 + 2, plus(1, 2)") == [(3, 2)]  # + calls no function in SQL
