"""What Flink's parser refuses is refused, with a place, what was found, and what was expected."""

from __future__ import annotations

import pickle

import pytest

from penstock.errors import SqlParseError
from penstock.table.dialect import parse_statement

REFUSED = [
    "SELECT",
    "SELECT FROM t",
    "SELECT a, FROM t",
    "SELECT a b c FROM t",
    "SELECT * * FROM t",
    "SELECT a FROM t WHERE",
    "SELECT a FROM t GROUP a",
    "SELECT a FROM t HAVING a > 1 WHERE b",
    "SELECT a FROM t LIMIT b",
    "SELECT a FROM t LIMIT 1, 2",
    "SELECT a FROM (t)",
    "SELECT a FROM t JOIN",
    "SELECT a FROM t LEFT LEFT JOIN u ON TRUE",
    "SELECT a MINUS SELECT b",
    "FROM t SELECT a",
    "SELECT value FROM t",
    "SELECT day FROM t",
    "SELECT a AS table FROM t",
    'SELECT "a" FROM t',
    "SELECT a != b FROM t",
    "SELECT a::INT FROM t",
    "SELECT a == b FROM t",
    "SELECT CAST(a AS) FROM t",
    "SELECT CAST(a, INT) FROM t",
    "SELECT CAST(a AS ARRAY<INT) FROM t",
    "SELECT f(a, ) FROM t",
    "SELECT f(, a) FROM t",
    "SELECT (a, ) FROM t",
    "SELECT CASE END",
    "SELECT CASE WHEN a THEN b",
    "SELECT a IN () FROM t",
    "SELECT a BETWEEN 1 FROM t",
    "SELECT a IS 5 FROM t",
    "SELECT INTERVAL '1' FROM t",
    "SELECT INTERVAL '1' DAY TO YEAR",
    "SELECT DATE 5",
    "SELECT ARRAY[1, (SELECT 2)]",
    "SELECT 'a",
    "SELECT `a",
    "SELECT ``",
    "SELECT /* a",
    "SELECT 1 +",
    "SELECT 1 2",
    "SELECT a..b FROM t",
    "SELECT * FROM t /*+ OPTIONS('a' = 'b', c) */",
    "SELECT * FROM t /*+ OPTIONS(",
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN () DEFINE A AS TRUE)",
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A))",
    "SELECT 1; SELECT 2",
    "SELECT 1e + 2",
    "SELECT * FROM f(DESCRIPTOR(a INT))",
    "SELECT * FROM f(TABLE t /*+ OPTIONS('a' = 'b') */)",
    "SELECT * FROM f(TABLE (SELECT 1))",
    "SELECT * FROM f(TABLE t PARTITION BY a.b)",
    "DESCRIBE CATALOG",
    "USE CATALOG",
    "VALUES",
    "VALUES (1, , 2)",
    "WITH a AS SELECT 1 SELECT 2",
    "CREATE",
    "CREATE TABLE",
    "CREATE TABLE t (a)",
    "CREATE TABLE t (a INT,)",
    "CREATE TABLE t (a INT b INT)",
    "CREATE TABLE t ()",
    "CREATE TABLE t (a INT NOT NULL NULL)",
    "CREATE TABLE t (a INT) WITH ('k')",
    "CREATE TABLE t (a INT) WITH (k = 'v')",
    "CREATE TABLE t (a INT) WITH ('k' = 'v',)",
    "CREATE TABLE t (a INT) WITH () PARTITIONED BY (a)",
    "CREATE TABLE t (a INT, WATERMARK FOR a AS a, WATERMARK FOR a AS a)",
    "CREATE TABLE t (a AS (SELECT 1))",
    "CREATE TABLE t (a INT, PRIMARY KEY ())",
    "CREATE TABLE t (a INT, PRIMARY (a))",
    "CREATE TABLE t (a INT) DISTRIBUTED BY RANDOM (a)",
    "CREATE TABLE t (a INT) DISTRIBUTED BY HASH (a) INTO 1.5 BUCKETS",
    "CREATE TABLE t (a RAW('x'))",
    "CREATE TABLE t (a ROW<INT>)",
    "CREATE TABLE t (a MAP<INT>)",
    "CREATE TABLE t LIKE s ()",
    "CREATE TABLE t LIKE s (INCLUDING EVERYTHING)",
    "CREATE TABLE t (a INT) AS",
    "CREATE TEMPORARY CATALOG c",
    "CREATE TEMPORARY MATERIALIZED TABLE t AS SELECT 1",
    "CREATE MATERIALIZED TABLE t",
    "CREATE VIEW v SELECT 1",
    "CREATE VIEW v AS AS SELECT 1",
    "CREATE SYSTEM FUNCTION f AS 'x'",
    "CREATE FUNCTION f 'x'",
    "CREATE FUNCTION f AS 'x' LANGUAGE COBOL",
    "CREATE FUNCTION f AS 'x' LANGUAGE PYTHON USING JAR 'x.jar'",
    "CREATE CONNECTION c",
    "DROP t",
    "DROP TABLE",
    "DROP TABLE IF t",
    "DROP TABLE t CASCADE",
    "DROP TEMPORARY MATERIALIZED TABLE t",
    "DROP SYSTEM CONNECTION c",
    "ALTER TABLE t",
    "ALTER TABLE t ADD",
    "ALTER TABLE t RENAME a b",
    "ALTER TABLE t SET ('a')",
    "ALTER TABLE t DROP ()",
    "ALTER VIEW v SET ('a' = 'b')",
    "INSERT t SELECT 1",
    "INSERT INTO t",
    "INSERT INTO t (a, ) SELECT 1",
    "INSERT INTO t PARTITION (a) SELECT 1",
    "INSERT INTO t SELECT 1 ON CONFLICT NOTHING",
    "UPSERT OVERWRITE t SELECT 1",
    "EXECUTE STATEMENT SET BEGIN END",
    "EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1 END",
    "EXECUTE STATEMENT SET BEGIN SELECT 1; END",
    "EXPLAIN",
    "EXPLAIN CHANGELOG_MODE, CHANGELOG_MODE SELECT 1",
    "EXPLAIN CREATE TABLE t (a INT)",
    "EXPLAIN SHOW TABLES",
    "COMPILE PLAN 'p' FOR SELECT 1",
    "SHOW",
    "SHOW TABLES LIKE",
    "SHOW TABLES ILIKE 'a'",
    "SHOW TABLES LIKE 'a' 'b'",
    "SHOW DATABASES IN a.b",
    "SHOW COLUMNS t",
    "SHOW CREATE t",
    "DESCRIBE",
    "DESCRIBE EXTENDED CATALOG c",
    "USE",
    "USE USE CATALOG c",
    "SET 'a'",
    "SET 'a' = b",
    "SET = 'b'",
    "RESET 'a' 'b' = 'c'",
    "LOAD hive",
    "STOP JOB 'a' WITH DRAIN",
    "CALL p",
    "ANALYZE TABLE t",
    "BEGIN",
    "END END",
    "EXPLAIN EXPLAIN SELECT 1",
    "(SELECT 1",
    "a + b",
    "",
    ";",
    "-- nothing",
]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(SqlParseError) as raised:
        parse_statement(text)
    assert raised.value.code in ("SQL_SYNTAX", "SQL_TEXT")
    assert raised.value.line >= 1
    assert raised.value.column >= 1
    assert f"Line {raised.value.line}, column {raised.value.column}" in raised.value.text
    assert "^" in raised.value.text


def _error(text: str) -> SqlParseError:
    with pytest.raises(SqlParseError) as raised:
        parse_statement(text)
    return raised.value


@pytest.mark.parametrize(
    ("text", "line", "column", "found", "expected"),
    [
        ("SELECT a,\n  b,\nFROM t", 3, 1, "found 'FROM'", "expected an expression"),
        ("SELECT a FROM t WHERE a = = 1", 1, 27, "found '='", "expected an expression"),
        ("CREATE TABLE t (a INT", 1, 21, "found the end of the statement", ")"),
        ("SELECT f(a FROM t", 1, 12, "found 'FROM'", "expected )"),
        ("DROP TABLE a.", 1, 13, "found the end of the statement", "a name"),
        ("SHOW TABLES FROM d LIKE d", 1, 25, "found 'd'", "a pattern in single quotes"),
    ],
)
def test_the_message_has_place_found_and_expected(text: str, line: int, column: int, found: str, expected: str) -> None:
    error = _error(text)
    assert (error.line, error.column) == (line, column)
    assert found in error.text
    assert expected in error.text


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("SELEC 1", "Did you mean SELECT?"),
        ("CREATE TABEL t (a INT)", "Did you mean TABLE?"),
        ("SELECT * FORM t", "Did you mean FROM instead of FORM?"),
        ("INSERT INTO t SELECT a FROM s WHER b = 1", "Did you mean WHERE instead of WHER?"),
        ("SELECT a FROM t GROUP BY a HAVIN b = 1", "Did you mean HAVING?"),
        ("ALTER TABLE t RENAEM TO u", "Did you mean RENAME?"),
        ("SELECT value FROM t", "As a name, write it in backquotes: `value`."),
        ("CREATE TABLE t (timestamp TIMESTAMP(3))", "As a name, write it in backquotes: `timestamp`."),
        ('SELECT "a"', "Write names in backquotes"),
        ("SELECT a != b", "Write <> for 'not equal'."),
    ],
)
def test_advice(text: str, advice: str) -> None:
    assert advice in _error(text).text


def test_the_excerpt_shows_the_line_with_a_caret() -> None:
    error = _error("SELECT a\nFROM t\n  WHERE x >> 1")
    line, caret = error.text.splitlines()[1:3]
    assert line.strip() == "WHERE x >> 1"
    assert line[caret.index("^")] == ">"


def test_a_long_line_is_cut_around_the_place() -> None:
    error = _error(f"SELECT {'a, ' * 200} FROM t")
    line, caret = error.text.splitlines()[1:3]
    assert len(line) < 120
    assert line[caret.index("^") :].startswith("FROM")


def test_deep_nesting_is_an_error_of_its_own() -> None:
    error = _error(f"SELECT {'(' * 2_000}1{')' * 2_000}")
    assert error.code == "SQL_TOO_DEEP"


def test_the_error_survives_pickling() -> None:
    error = _error("SELECT a,\n FROM t")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, copy.line, copy.column, str(copy)) == (error.code, error.line, error.column, str(error))


def test_passwords_are_not_shown() -> None:
    assert "sesame" not in _error("CREATE TABLE t (a INT) WITH ('properties.password' = 'sesame', 'b',)").text
