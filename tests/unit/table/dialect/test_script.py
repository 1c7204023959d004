"""Scripts are split at semicolons, and an error does not stop the next statement."""

from __future__ import annotations

from penstock.table.dialect import parse_script


def _kinds(text: str) -> list[str]:
    return [
        f"error in line {found.error.line}"
        if found.error
        else found.statement.statement_kind()
        if found.statement
        else ""
        for found in parse_script(text)
    ]


def test_statements_and_their_lines() -> None:
    found = parse_script("-- first\nSELECT 1;\n\n/* ; */ SHOW TABLES ; ;\nSET 'a' = ';'")
    assert [(part.line, part.text) for part in found] == [(2, "SELECT 1"), (4, "SHOW TABLES"), (5, "SET 'a' = ';'")]


def test_an_error_does_not_stop_the_next_statement() -> None:
    text = "SELECT 1;\nCREATE TABL t;\nSELECT (;\nSHOW TABLES;"
    assert _kinds(text) == ["SELECT", "error in line 2", "error in line 3", "ShowTables"]


def test_an_open_quote_ends_at_the_end_of_a_line() -> None:
    assert _kinds("SELECT 'a;\nSHOW TABLES;") == ["error in line 1", "ShowTables"]
    # The quote of the second statement would close the one of the first.
    assert _kinds("SELECT 'a;\nSELECT 'b', 'c';\nSHOW TABLES;") == ["error in line 1", "SELECT", "ShowTables"]
    assert _kinds("SELECT /* a;\nSHOW TABLES;\nSELECT 1 /* b */;") == ["error in line 1", "ShowTables", "SELECT"]


def test_texts_may_have_semicolons_at_line_ends() -> None:
    assert _kinds("INSERT INTO t VALUES ('a;\nb');\nSHOW TABLES") == ["SqlInsert", "ShowTables"]


def test_statement_sets() -> None:
    text = """
    EXECUTE STATEMENT SET
    BEGIN
      INSERT INTO a SELECT ';'; -- END;
      INSERT INTO b SELECT 1;
    END;
    BEGIN STATEMENT SET;
    INSERT INTO c SELECT 1;
    END;
    COMPILE PLAN 'p' FOR STATEMENT SET BEGIN INSERT INTO d SELECT 1; END;
    """
    assert _kinds(text) == ["Execute", "BeginStatementSet", "SqlInsert", "EndStatementSet", "CompilePlan"]


def test_an_open_statement_set_does_not_swallow_the_script() -> None:
    text = "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;\nSHOW TABLES;\nSELECT 1;"
    assert _kinds(text) == ["error in line 1", "ShowTables", "SELECT"]


def test_errors_have_the_place_in_the_script() -> None:
    (_, found) = parse_script("SELECT 1; SELECT a,\n  FROM t;")
    assert found.error is not None
    assert (found.error.line, found.error.column) == (2, 3)
    assert "  FROM t" in found.error.text


def test_an_empty_script() -> None:
    assert parse_script(" ;\n-- nothing\n;") == []
